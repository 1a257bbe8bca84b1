import { sentBody, type SentBody } from './sent-body.js';

const JSON_TYPE = 'application/json';
const sent = (changes: Partial<SentBody>) =>
  sentBody({ method: 'POST', contentType: JSON_TYPE, isPartial: false, body: '{"a":1}', ...changes });

test.each<[string, Partial<SentBody>, object]>([
  ['JSON', {}, { body: { a: 1 } }],
  ['JSON as bytes', { body: Buffer.from('{"a":"ü"}') }, { body: { a: 'ü' } }],
  ['JSON with parameters', { contentType: 'application/problem+json; charset=utf-8' }, { body: { a: 1 } }],
  ['what was cut off', { isPartial: true }, { bodyUnknown: true }],
  ['what is no JSON', { body: '{"a":' }, { bodyUnknown: true }],
  ['bytes that are no UTF-8', { body: Buffer.from([0x22, 0xc3, 0x28, 0x22]) }, { bodyUnknown: true }],
  ['another type', { contentType: 'text/plain' }, { bodyUnknown: true }],
  ['no type', { contentType: '' }, { bodyUnknown: true }],
  ['nothing, where there may be something', { body: '' }, { bodyUnknown: true }],
  ['nothing of a GET', { method: 'GET', body: '' }, { bodyUnknown: false }],
  ['something of a GET', { method: 'GET', contentType: 'text/plain' }, { bodyUnknown: true }],
])('%s', (_, changes, expected) => {
  expect(sent(changes)).toEqual(expected);
});
