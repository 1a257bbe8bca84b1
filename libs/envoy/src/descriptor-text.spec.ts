import { descriptorPattern, descriptorText } from './descriptor-text.js';

const entries = (...pairs: [string, string][]) => pairs.map(([key, value]) => ({ key, value }));

describe('the text of a descriptor', () => {
  it.each([
    [entries(['to_number', '2061']), 'messaging/to_number?2061'],
    [entries(['message_type', 'marketing'], ['to_number', '']), 'messaging/message_type/to_number?marketing/'],
    [entries(['path', '/a?b=*'], ['k/1', '100%']), 'messaging/path/k%2F1?%2Fa%3Fb%3D%2A/100%25'],
    [entries(['name', 'Zoë']), 'messaging/name?Zo%C3%AB'],
    [entries(['half', '\ud800']), 'messaging/half?%EF%BF%BD'],
  ])('of %j is %s', (given, text) => {
    expect(descriptorText('messaging', given)).toBe(text);
  });

  it('is another one for every other descriptor', () => {
    const all = [
      entries(['a', 'b']),
      entries(['a', 'b'], ['c', '']),
      entries(['a', 'b/'], ['c', '']),
      entries(['a', ''], ['c', 'b']),
      entries(['a/c', 'b/']),
      entries(['a', 'b?c']),
      entries(['a?b', 'c']),
      entries(['a', 'b%2F'], ['c', '']),
    ];
    expect(new Set(all.map((each) => descriptorText('d', each))).size).toBe(all.length);
    expect(descriptorText('d/a', entries(['b', 'c']))).not.toBe(descriptorText('d', entries(['a/b', 'c'])));
  });
});

it('a pattern leaves stars where any text may stand, and encodes everything else like a text', () => {
  const pattern = (...pairs: [string, string | undefined][]) =>
    descriptorPattern(
      'a b',
      pairs.map(([key, value]) => ({ key, value })),
    );
  expect(pattern(['k', 'v'])).toBe('a%20b/k?v');
  expect(pattern(['k', '/api*v1/*'], ['x', undefined])).toBe('a%20b/k/x?%2Fapi*v1%2F*/*');
});
