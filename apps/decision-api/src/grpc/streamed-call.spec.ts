import type { Http2Stream } from '../http2/http2-stream.js';
import { BodyBudget } from '../http/request-body.js';
import type { CallHead } from './call-head.js';
import { framed } from './grpc-blocks.js';
import { GrpcCode, GrpcError } from './grpc-error.js';
import { StreamedCall } from './streamed-call.js';

const ENDS = new GrpcError(GrpcCode.Unavailable, 'this process ends', 'decision_api.draining');

/** A stream of which each message is answered when it is told to be, with the bytes of the message. */
function openCall() {
  const begun: Buffer[] = [];
  const answer: (() => void)[] = [];
  const heard: string[] = [];
  const stream = {
    hasEnded: false,
    isOver: false,
    used: () => {},
    respond: () => {},
    write: (frame: Buffer) => {
      heard.push(frame.subarray(5).toString());
      return true;
    },
    end: () => void heard.push('status'),
    refuse: () => void heard.push('status alone'),
  };
  const call = new StreamedCall(stream as unknown as Http2Stream, {
    method: {
      read: (bytes) => bytes,
      write: (message) => message as Buffer,
      open: () => ({
        message: (request) => {
          begun.push(request as Buffer);
          return new Promise((resolve) => answer.push(() => resolve(request)));
        },
      }),
    },
    head: { encoding: 'identity' } as CallHead,
    withinMs: Infinity,
    connection: { peer: '127.0.0.1', known: undefined },
    mostBytes: 100,
    budget: new BodyBudget(1_000),
    errorOf: (error) => error as GrpcError,
    closed: () => {},
  });
  call.open();
  const ask = (...texts: string[]) => call.data(Buffer.concat(texts.map((text) => framed(Buffer.from(text)))));
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { call, ask, begun, answer, heard, settle };
}

describe('a stream of a process that ends', () => {
  it('answers what it has begun, and then says that it ends', async () => {
    const { call, ask, answer, heard, settle } = openCall();
    ask('one', 'two');
    call.leave(ENDS);
    answer[1]!();
    await settle();
    expect(heard).toEqual(['two']);
    answer[0]!();
    await settle();
    expect(heard).toEqual(['two', 'one', 'status']);
  });

  it('begins nothing more', async () => {
    const { call, ask, begun, answer, heard, settle } = openCall();
    ask('one');
    call.leave(ENDS);
    ask('two');
    answer[0]!();
    await settle();
    expect(begun.map(String)).toEqual(['one']);
    expect(heard).toEqual(['one', 'status']);
  });

  it('ends at once if nothing is under way', () => {
    const { call, heard } = openCall();
    call.leave(ENDS);
    expect(heard).toEqual(['status alone']);
  });
});
