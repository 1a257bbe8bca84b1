export * from './bar-charts.js';
export * from './line-charts.js';
export type { Heading } from './render.js';
export * from './outcome-chart.js';
