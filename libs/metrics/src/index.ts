export { counter, counterBy, gauge } from './read-metrics.js';
export { SECONDS_BOUNDS, Histogram, type HistogramOptions } from './histogram.js';
