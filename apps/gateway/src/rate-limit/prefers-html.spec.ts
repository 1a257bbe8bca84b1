import { prefersHtml } from './prefers-html.js';

test.each([
  ['a browser', ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'], true],
  ['an old browser', ['text/html, application/xhtml+xml, */*'], true],
  ['one with two lines', ['image/png', 'TEXT/HTML'], true],
  ['curl', ['*/*'], false],
  ['a client without Accept', [], false],
  ['a client of JSON', ['application/json, text/html;q=0.9'], false],
  ['one that takes either', ['text/html, application/problem+json'], false],
  ['one that wants no page', ['text/html;q=0'], false],
  ['a page, then JSON', ['application/json ; q=0.5, text/html ; level=1 ; q=0.7'], true],
])('%s with %j: %s', (_who, accept, html) => expect(prefersHtml(accept)).toBe(html));
