import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { compileTemplate, type TemplateKind, templateFile, type TemplateValues } from './body-template.js';

const VALUES: TemplateValues = {
  type: 'https://problems.example/quota',
  code: 'quota.exceeded',
  title: 'Quota exceeded',
  status: 429,
  detail: 'Too many: "burst" & <more>\n',
  requestId: 'r-1',
  retryAfter: 5,
  rule: 'card payments',
  limits: ['burst', 'daily'],
};

test.each<[TemplateKind, string, string]>([
  ['json', '{ "a": "{{status}}", "b": "{{ limits }}" }', '{"a":429,"b":["burst","daily"]}'],
  ['json', '{"a":"\\"{{code}}\\"","b":"x\\"{{code}}"}', '{"a":"\\"quota.exceeded\\"","b":"x\\"quota.exceeded"}'],
  ['json', '["{{status}}: {{detail}}", 1]', '["429: Too many: \\"burst\\" & <more>\\n",1]'],
  ['html', '<p title="a > b">{{detail}}</p>', '<p title="a > b">Too many: &quot;burst&quot; &amp; &lt;more&gt;</p>'],
  ['xml', '<e>{{limits}}</e>', '<e>burst, daily</e>'],
  ['txt', '{{status}} {{detail}}', '429 Too many: "burst" & <more>'],
])('a template in %s, %s, escapes what is put into it', (kind, text, body) => {
  expect(compileTemplate(text, kind).render(VALUES)).toBe(body);
});

test('what an answer does not have is null in JSON, and nothing in a text', () => {
  const nothing = { ...VALUES, retryAfter: null, rule: null };
  expect(compileTemplate('{"a":"{{retryAfter}}","b":"{{rule}}!"}', 'json').render(nothing)).toBe('{"a":null,"b":"!"}');
});

test.each<[string, TemplateKind, string, RegExp]>([
  ['a placeholder that does not exist', 'txt', 'x {{merchant}}', /\{\{merchant\}\} is no placeholder; there are type, code/],
  ['a placeholder without an end', 'txt', 'x {{detail}', /begins no placeholder/],
  ['JSON that is none', 'json', '{', /JSON/],
  ['a placeholder as a name', 'json', '{"{{code}}":1}', /no place for a placeholder/],
  ['a placeholder outside a text', 'json', '{"a":{{status}}}', /JSON/],
  ['a placeholder in a tag', 'html', '<a href="{{detail}}">x</a>', /may only stand in text/],
  ['a placeholder in a script', 'html', '<script>x("{{detail}}")</script>', /may only stand in text/],
  ['a placeholder in a comment', 'html', '<!-- {{detail}} -->', /may only stand in text/],
  ['a tag without an end', 'html', '<a href="x {{detail}}', /is not closed/],
  ['a script without an end', 'html', '<script>x("{{detail}}")', /is not closed/],
])('%s is a fault that is named', (_what, kind, text, fault) => {
  expect(() => compileTemplate(text, kind)).toThrow(fault);
});

test('whatever the values are, JSON stays JSON that says them, and markup gets no tags', () => {
  const json = compileTemplate('{"a":"{{detail}}","b":"<{{detail}}>"}', 'json');
  const html = compileTemplate('<p>{{detail}}</p>', 'html');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (detail) => {
      const values = { ...VALUES, detail };
      expect(JSON.parse(json.render(values))).toEqual({ a: detail, b: `<${detail}>` });
      expect(html.render(values).slice(3, -4)).not.toMatch(/[<>"']/);
    }),
  );
});

describe('the file of a template', () => {
  const folder = mkdtempSync(join(tmpdir(), 'template-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it('says by its name what it is', () => {
    expect(templateFile(file('a.json', '{}'), ['json']).contentType).toBe('application/json');
    expect(templateFile(file('a.HTML', ''), ['html']).contentType).toBe('text/html; charset=utf-8');
  });

  it.each([
    ['is missing', () => join(folder, 'none.json'), /a file that can be read \(ENOENT\)/],
    ['has another name', () => file('b.html', ''), /ends with \.json, \.txt/],
    ['is too large', () => file('c.txt', 'x'.repeat(65_537)), /at most 65536 bytes/],
    ['is malformed', () => file('d.json', '{'), /a template in json, but/],
  ])('that %s is a fault of the configuration', (_what, path, fault) => {
    expect(() => templateFile(path(), ['json', 'txt'])).toThrow(fault);
  });
});
