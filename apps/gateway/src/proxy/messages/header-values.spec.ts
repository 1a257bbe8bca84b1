import { headerValues } from '#edge';
import { upstreamHeaders } from './hop-by-hop.js';

const forwarded = (rawHeaders: string[], connectionOptions: string[] | null = null, trusted = false) =>
  upstreamHeaders(rawHeaders, { connectionOptions, host: 'a' }, { trusted, peer: '192.0.2.7' }, 'id');
const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

test('a header has a value for each line of its name, in any case', () => {
  expect(headerValues(forwarded(['X-Channel', 'web', 'x-channel', 'app', 'X-Channels', 'tv']), 'x-channel')).toEqual(['web', 'app']);
});

test('a header that is not forwarded has none', () => {
  const raw = ['X-Channel', 'web', 'X_Forwarded_Proto', 'https', 'X-Real-IP', '10.0.0.1', 'Keep-Alive', '5'];
  const list = forwarded(raw, ['x-channel']);
  expect(['x-channel', 'x_forwarded_proto', 'x-real-ip', 'keep-alive', 'host'].map((name) => headerValues(list, name))).toEqual([
    [],
    [],
    [],
    [],
    [],
  ]);
  expect(headerValues(forwarded(raw, null, true), 'x-real-ip')).toEqual(['10.0.0.1']);
});

test('a value is read as UTF-8, and bytes that are none as Latin-1', () => {
  expect(headerValues(['x', latin1('gerät'), 'x', 'ger\u00e4t', 'x', '\u00ff\u00fe'], 'x')).toEqual(['gerät', 'gerät', 'ÿþ']);
});
