import { headerRewrite, rewritten } from './header-rewrite.js';

const rewrite = headerRewrite({ set: { 'X-Lane': 'slow' }, remove: ['Server', 'x-powered-by'] })!;

it.each<[string, string[], string[]]>([
  ['sets a header that is not there', ['A', '1'], ['A', '1', 'X-Lane', 'slow']],
  ['replaces each of the same name, in any case', ['x-lane', '1', 'A', '1', 'X-LANE', '2'], ['A', '1', 'X-Lane', 'slow']],
  ['removes, in any case', ['server', 'x', 'B', '2', 'X-Powered-By', 'y'], ['B', '2', 'X-Lane', 'slow']],
  ['replaces names that CGI takes for the same', ['X_Lane', 'fast', 'x_powered-by', 'y'], ['X-Lane', 'slow']],
  ['leaves values alone that look like names', ['A', 'server'], ['A', 'server', 'X-Lane', 'slow']],
])('%s', (_what, headers, expected) => {
  expect(rewritten(headers, rewrite)).toEqual(expected);
});

it('there is none where nothing is to be done', () => {
  expect(headerRewrite({ set: {}, remove: [] })).toBeUndefined();
});
