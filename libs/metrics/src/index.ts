export { counter, counterBy, gauge, gaugeBy } from './read-metrics.js';
export { SECONDS_BOUNDS, Histogram, type HistogramOptions } from './histogram.js';
