/** A collector of traces: takes OTLP over HTTP, in JSON, and keeps the spans. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links?: readonly { readonly traceId: string }[];
}

interface TracesData {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[] }[];
}

export interface TraceReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Headers of the requests that came. */
  readonly headers: NodeJS.Dict<string | string[]>[];
  /** While true, requests are read and never answered. */
  silent: boolean;
  close(): void;
}

export async function traceReceiver(): Promise<TraceReceiver> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      receiver.headers.push(request.headers);
      if (receiver.silent) return;
      if (request.url !== '/v1/traces') {
        response.writeHead(404).end();
        return;
      }
      const { resourceSpans } = JSON.parse(Buffer.concat(pieces).toString()) as TracesData;
      receiver.spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: TraceReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    headers: [],
    silent: false,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}

/** What a span says, by the names of its attributes. */
export function attributesOf({ attributes }: ReceivedSpan): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
