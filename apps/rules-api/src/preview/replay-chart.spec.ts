import { replayChart } from './replay-chart.js';

const at = '2026-11-22T10:00:00.000Z';
const replay = {
  requests: 14,
  refusedNow: 2,
  refusedThen: 5,
  shadowNow: 0,
  shadowThen: 0,
  byRule: [],
  mostAffected: [],
  stepMs: 250,
  truncated: false,
  series: [
    { at, requests: 10, refusedNow: 2, refusedThen: 5 },
    { at, requests: 0, refusedNow: 0, refusedThen: 0 },
    { at, requests: 4, refusedNow: 0, refusedThen: 0 },
  ],
};

const heights = (svg: string, outcome: string) =>
  [...svg.matchAll(new RegExp(`<rect class="${outcome}" [^>]*width="[^"]*" height="([^"]*)"`, 'g'))]
    .slice(1)
    .map(([, height]) => Number(height));

test('each step has what passed and what was refused, in both panels by one measure', () => {
  const svg = replayChart(replay, 'acme');
  // Now 8 and 2, then 4; with the draft 5 and 5, then 4. The highest bar fills its panel.
  expect(heights(svg, 'passed')).toEqual([112, 56, 70, 56]);
  expect(heights(svg, 'refused')).toEqual([28, 70]);
  expect(svg).toContain('refused now 2, with the draft 5');
  expect(svg).toMatch(/aria-label="What the draft would change\. 14 requests of acme/);
  expect(svg).not.toContain('time was up');
});

test('a name cannot become a part of the picture', () => {
  const svg = replayChart({ ...replay, truncated: true }, 'a<script>"&');
  expect(svg).not.toContain('<script>');
  expect(svg).toContain('a&#60;script&#62;&#34;&#38;');
  expect(svg).toContain('the time was up');
});

test('a replay of nothing is an empty picture', () => {
  const svg = replayChart({ ...replay, requests: 0, series: [] }, 'acme');
  expect([heights(svg, 'passed'), heights(svg, 'refused'), svg.includes('NaN')]).toEqual([[], [], false]);
});
