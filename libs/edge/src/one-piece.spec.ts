import { createServer, request, type RequestListener } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { endInOnePiece } from './one-piece.js';

/** What a client reads of one answer. */
async function answered(listener: RequestListener, method = 'GET'): Promise<{ status: number; body: string; length: string | undefined }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await new Promise((resolve, reject) => {
      request({ port: (server.address() as AddressInfo).port, method }, (response) => {
        let body = '';
        response
          .setEncoding('latin1')
          .on('data', (text) => (body += text))
          .on('end', () => resolve({ status: response.statusCode!, body, length: response.headers['content-length'] }));
      })
        .on('error', reject)
        .end();
    });
  } finally {
    server.close();
  }
}

test('an answer arrives whole, whatever its bytes', async () => {
  const body = `{"é":"\u0000\r\n\r\n"}`;
  expect(
    await answered((_request, response) => endInOnePiece(response.writeHead(200, ['Content-Length', String(body.length)]), body)),
  ).toEqual({ status: 200, body, length: String(body.length) });
});

test.each([
  ['HEAD', 200],
  ['GET', 204],
  ['GET', 304],
])('%s with %i has no body', async (method, status) => {
  expect(
    await answered((_request, response) => endInOnePiece(response.writeHead(status, ['Content-Length', '3']), 'abc'), method),
  ).toMatchObject({ status, body: '' });
});

test('an answer without a length, or of which a part was written before, goes the usual way', async () => {
  expect(await answered((_request, response) => endInOnePiece(response.writeHead(200, []), 'abc'))).toMatchObject({
    body: 'abc',
    length: undefined,
  });
  expect(
    await answered((_request, response) => {
      response.writeHead(200, ['Content-Length', '6']).write('abc');
      endInOnePiece(response, 'def');
    }),
  ).toMatchObject({ body: 'abcdef' });
});

test('an answer is one write of one string, because node still holds its headers back', async () => {
  const writes: unknown[][] = [];
  const server = createServer((_request, response) => {
    const { socket } = response as unknown as { socket: Socket };
    const write = socket.write.bind(socket) as (...parameters: unknown[]) => boolean;
    socket.write = (...parameters: unknown[]) => {
      writes.push(parameters);
      return write(...parameters);
    };
    endInOnePiece(response.writeHead(200, ['Content-Length', '3']), 'abc');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await new Promise((resolve) => client.once('data', resolve));
  client.destroy();
  server.close();
  expect(writes.map(([data, encoding]) => [typeof data, encoding])).toEqual([['string', 'latin1']]);
  expect(writes[0]![0]).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nabc$/);
});
