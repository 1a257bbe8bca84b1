import { EventEmitter } from 'node:events';
import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import type { MethodDefinition, ServiceDefinition } from '@grpc/proto-loader';
import { GrpcCode, GrpcError } from './grpc-error.js';
import type { StreamedCall, StreamHandler, StreamMethod } from './streamed-call.js';
import type { UnaryMethod } from './unary-call.js';

/** Services that were written for grpc-js, as far as those for health and reflection use it. */
export interface ForeignMethods {
  unary(path: string, method: UnaryMethod): void;
  stream(path: string, method: StreamMethod): void;
}

type Definition = MethodDefinition<object, object>;
type Failure = { readonly code?: GrpcCode; readonly details?: string } | null;
type ForeignUnary = (call: object, callback: (error: Failure, message?: object) => void) => void;
type ForeignStream = (call: object) => void;

/** @param implementation by the names of the methods, in the case of either side */
export function addForeignService(methods: ForeignMethods, service: ServiceDefinition, implementation: UntypedServiceImplementation): void {
  for (const [name, definition] of Object.entries(service)) {
    const {
      path,
      requestDeserialize: read,
      responseSerialize: write,
      requestStream,
      responseStream,
      originalName,
    } = definition as Definition;
    const method = (implementation[name] ?? implementation[originalName ?? '']) as unknown;
    if (method === undefined) continue;
    if (!responseStream) methods.unary(path, { read, write, answer: unaryAnswer(method as ForeignUnary) });
    else methods.stream(path, { read, write, open: (call) => foreignStream(method as ForeignStream, call, requestStream) });
  }
}

function unaryAnswer(method: ForeignUnary): UnaryMethod['answer'] {
  return (request, _call, answered) => {
    method({ request }, (error, message) =>
      answered(error === null ? message! : new GrpcError(error.code ?? GrpcCode.Internal, error.details ?? '', 'call.failed')),
    );
  };
}

/** What such a method sees of its call. */
class ForeignCall extends EventEmitter {
  request: object | undefined;

  constructor(private readonly call: StreamedCall) {
    super();
  }

  write(message: object): void {
    this.call.send(message);
  }

  end(): void {
    this.call.end();
  }
}

function foreignStream(method: ForeignStream, call: StreamedCall, hasStream: boolean): StreamHandler {
  const foreign = new ForeignCall(call);
  if (hasStream) method(foreign);
  return {
    message: (request) => {
      if (hasStream) foreign.emit('data', request);
      else if (foreign.request !== undefined)
        throw new GrpcError(GrpcCode.Unimplemented, 'the call has more than one message', 'message.several');
      else {
        foreign.request = request;
        method(foreign);
      }
      return Promise.resolve(undefined);
    },
    ended: () => void foreign.emit('end'),
    closed: () => void foreign.emit('cancelled'),
  };
}
