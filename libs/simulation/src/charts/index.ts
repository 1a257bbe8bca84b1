export * from './bar-charts.js';
export * from './line-charts.js';
export type { Axis } from './axis.js';
export type { Heading } from './frame.js';
export type { Line, LinePanel, Point } from './line-panel.js';
