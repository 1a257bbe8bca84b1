export { counter, counterBy, gauge, gaugeBy, type Together } from './read-metrics.js';
export { SECONDS_BOUNDS, Histogram, type HistogramOptions } from './histogram.js';
