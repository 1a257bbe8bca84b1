import { barCharts, lineChart, smallMultiples } from './index.js';
import { short } from './axis.js';

const heading = { title: 'Bars & <lines>', subtitle: 'seed 1' };
const panel = {
  x: { label: 'seconds', domain: [0, 10] as const },
  y: { label: 'admitted', domain: [0, 5] as const },
  lines: [
    {
      look: 0,
      points: [
        [0, 1],
        [5, 4],
        [10, 2],
      ] as const,
    },
  ],
};
const charts = {
  bars: barCharts(heading, [
    {
      name: 'plain',
      bars: [
        { name: 'a "quoted" one', value: 3, look: 0 },
        { name: 'nothing', value: 0, look: 1 },
      ],
      mark: 2,
    },
    {
      name: 'by powers of ten',
      bars: [
        { name: 'a', value: 0, look: 0 },
        { name: 'b', value: 1000, look: 12 },
      ],
      logFrom: 1,
    },
  ]),
  'bars of nothing': barCharts(heading, [{ name: 'none', bars: [{ name: 'a', value: 0, look: 0 }] }]),
  lines: lineChart(heading, { ...panel, mark: { y: 3, label: 'limit' } }, ['one']),
  'lines by powers of ten': lineChart(heading, { ...panel, x: { ...panel.x, domain: [1, 1000], log: true } }, ['one']),
  'small multiples': smallMultiples(
    heading,
    [1, 2, 3].map((look) => ({ ...panel, name: `panel ${look}`, reference: panel.lines[0]!.points, steps: true })),
  ),
};

describe.each(Object.entries(charts))('%s', (_name, svg) => {
  it('is well-formed: every element that opens closes, and nothing is left unescaped', () => {
    const open: string[] = [];
    for (const [, closing, name, rest] of svg.matchAll(/<(\/?)([a-z]+)([^<>]*)>/g)) {
      if (closing) expect(open.pop()).toBe(name);
      else if (!rest!.endsWith('/')) open.push(name!);
    }
    expect(open).toEqual([]);
    expect(svg.replace(/<\/?[a-z]+[^<>]*>/g, '')).not.toMatch(/[<>]|&(?!#\d+;)/);
  });

  it('has numbers only where numbers belong', () => {
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('says what it is to those who cannot see it, and is legible by day and by night', () => {
    expect(svg).toContain('role="img" aria-label="Bars &#38; &#60;lines&#62;. seed 1"');
    expect(svg).toContain('prefers-color-scheme:dark');
    expect(svg).toContain('class="ground"');
  });
});

test('numbers are short', () => {
  expect([0, 0.05, 12, 1234, 45_000, 2_500_000, 1 / 3].map(short)).toEqual(['0', '0.05', '12', '1,234', '45k', '2.5M', '0.333']);
});
