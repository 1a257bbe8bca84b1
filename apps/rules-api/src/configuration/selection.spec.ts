import { ruleSpec } from '../../../../test/support/factories/rules.js';
import { readConfiguration } from './document.js';
import { pagesOf } from './pages.js';
import { isSelected, selectionIn } from './selection.js';

const risk = selectionIn('team=risk');

test.each([
  [undefined, {}, true],
  [risk, { labels: { team: 'risk', region: 'eu' } }, true],
  [risk, { labels: { team: 'ops' } }, false],
  [risk, { labels: {} }, false],
  [risk, {}, false],
  [selectionIn('query=a=b'), { labels: { query: 'a=b' } }, true],
  [selectionIn('constructor=x'), { labels: {} }, false],
])('select %j of %j is %s', (selection, labelled, selected) => expect(isSelected(selection, labelled)).toBe(selected));

test('each rule of a document without the label that select asks for is a fault of its own', async () => {
  const [inside, outside] = [ruleSpec({ labels: { team: 'risk' } }), ruleSpec({ name: 'outside' })];
  const merchants = [{ id: 'acme', name: 'Acme', timeZone: 'UTC', rules: [inside, outside] }];
  const plans = [{ name: 'pro', note: '', labels: {}, rules: [outside] }];
  const errors = [
    { pointer: '/plans/0/rules/0/labels', code: 'rule.labels.not_selected', detail: expect.stringContaining('team=risk') as string },
    { pointer: '/merchants/0/rules/1/labels', code: 'rule.labels.not_selected', detail: expect.stringContaining('team=risk') as string },
  ];
  const document = { version: 1, plans, merchants, defaultRules: [inside] };
  await expect(readConfiguration(document, risk)).rejects.toMatchObject({ status: 400, errors });
  await expect(readConfiguration(document)).resolves.toMatchObject({ defaultRules: [inside] });
});

test('a page of a document has a bounded number of merchants and of rules, and no merchant is lost', () => {
  const merchants = Array.from({ length: 450 }, (_, i) => ({
    id: `m${i}`,
    name: 'x',
    timeZone: 'UTC',
    rules: Array.from({ length: i < 30 ? 100 : 1 }, () => ruleSpec()),
  }));
  const pages = [...pagesOf(merchants)];
  expect(pages.flat()).toEqual(merchants);
  for (const page of pages) {
    expect(page.length).toBeLessThanOrEqual(100);
    expect(page.reduce((sum, { rules }) => sum + rules.length, 0)).toBeLessThanOrEqual(1_000);
  }
});
