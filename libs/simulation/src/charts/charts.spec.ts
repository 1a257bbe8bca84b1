import { barCharts, lineChart, outcomeChart, short, smallMultiples } from './index.js';

const heading = { title: 'Bars & <lines>', subtitle: 'seed 1', notes: ['what is to be seen'] };
const x = { label: 'seconds', domain: [1, 1000] as const, log: true, ticks: [1, 4, 1000] };
const y = { label: 'admitted', domain: [0, 5] as const };
const points = [
  [1, 1],
  [50, 4],
  [1000, 2],
] as const;

const bars = [
  { name: 'a "quoted" one', value: 3 },
  { name: 'nothing', value: 0 },
];
const charts: Record<string, () => Promise<string>> = {
  bars: () =>
    barCharts(heading, [
      { name: 'plain', bars, mark: 2, format: (value) => `${value} %` },
      { name: 'by powers of ten', bars: [...bars, { name: 'b', value: 1000 }], logFrom: 1 },
    ]),
  'bars of nothing': () => barCharts(heading, [{ name: 'none', bars: [{ name: 'a', value: 0 }] }]),
  lines: () => lineChart(heading, { x, y, lines: [{ name: 'one', points }] }),
  outcomes: () => outcomeChart(heading, 0.5, [{ name: 'acme', passed: [3, 0, 1], refused: [9, 0, 0] }]),
  'small multiples': () =>
    smallMultiples(heading, {
      x,
      y,
      mark: 3,
      highlighted: 'panel 2',
      panels: [1, 2, 3].map((panel) => ({
        name: `panel ${panel}`,
        points: points.map(([atX, atY]) => ({ x: atX, y: atY, reference: 1 })),
      })),
    }),
};

/** The texts of a picture in their order. */
const textsOf = (svg: string): string[] => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, words = '']) => words);

describe.each(Object.entries(charts))('%s', (_name, draw) => {
  let svg: string;
  beforeAll(async () => {
    svg = await draw();
  });

  it('are well-formed: every element that opens closes, and nothing is left unescaped', () => {
    const open: string[] = [];
    for (const [, closing, name, rest] of svg.matchAll(/<(\/?)([a-zA-Z]+)([^<>]*)>/g)) {
      if (closing) expect(open.pop()).toBe(name);
      else if (!rest!.endsWith('/')) open.push(name!);
    }
    expect(open).toEqual([]);
    expect(svg.replace(/<\/?[a-zA-Z]+[^<>]*>/g, '')).not.toMatch(/[<>]|&(?!(#\d+|amp|lt|gt|quot);)/);
  });

  it('have numbers only where numbers belong', () => {
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('are the same each time', async () => {
    expect(await draw()).toBe(svg);
  });

  it('say what they show to those who cannot see them', () => {
    expect(svg).toContain('role="img" aria-label="Bars &#38; &#60;lines&#62;. seed 1. what is to be seen"');
  });

  it('write every colour as an attribute, with a counterpart for dark pages', () => {
    expect(svg).not.toContain('var(');
    const night = /@media \(prefers-color-scheme:dark\)\{(.*)\}<\/style>/.exec(svg)![1]!;
    const drawn = new Set([...svg.matchAll(/ (?:fill|stroke)="(#\w+)"/g)].map(([, colour]) => colour));
    expect(drawn.size).toBeGreaterThan(3);
    for (const colour of drawn) expect(night).toContain(`="${colour}"]`);
  });
});

test('bars carry their numbers, in the form that the panel asks for', async () => {
  expect(textsOf(await charts['bars']!())).toEqual(expect.arrayContaining(['3 %', '0 %', '1,000']));
});

test('every tick that is asked for has its number', async () => {
  expect(textsOf(await charts['lines']!()).slice(0, 3)).toEqual(['1', '4', '1,000']);
});

test('an axis that ends at a round value has a number there, above every line and bar', async () => {
  const lines = await lineChart(heading, { x, y: { label: '', domain: [0, 222], nice: true }, lines: [{ name: 'one', points }] });
  expect(textsOf(lines)).toContain('250');
  const bars = await outcomeChart(heading, 1, [{ name: 'acme', passed: [90], refused: [11] }]);
  expect(textsOf(bars)).toContain('120');
});

test('the number of a bar that ends just before a mark stands behind the mark', async () => {
  const panel = {
    name: 'p',
    mark: 100,
    bars: [
      { name: 'near', value: 99 },
      { name: 'at', value: 100 },
      { name: 'far', value: 20 },
    ],
  };
  const svg = await barCharts(heading, [panel]);
  const placeOf = (words: string) => Number(new RegExp(`translate\\(([\\d.]+),[\\d.]+\\)"[^>]*>${words}<`).exec(svg)![1]);
  expect(placeOf('99')).toBe(placeOf('100'));
  expect(placeOf('20')).toBeLessThan(placeOf('99') / 2);
});

test('the bars of outcomes stand on each other, as high as there were requests', async () => {
  const svg = await outcomeChart(heading, 0.5, [{ name: 'acme', passed: [3], refused: [9] }]);
  const heights = [...svg.matchAll(/<path d="M[^"]*v(-?[\d.]+)h[^"]*" fill="#/g)].map(([, height]) => Math.abs(Number(height)));
  expect(heights).toHaveLength(2);
  expect(heights[1]! / heights[0]!).toBeCloseTo(3, 1);
});

test('the numbers at an axis are short', () => {
  expect([0, 0.05, 12, 1234.5, 45_000, 2_500_000, 1 / 3].map(short)).toEqual(['0', '0.05', '12', '1,235', '45k', '2.5M', '0.333']);
});
