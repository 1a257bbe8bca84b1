import { scaleLinear, scaleLog, type ScaleContinuousNumeric } from 'd3-scale';
import type { Box } from './frame.js';
import { element, text } from './svg.js';

export type Scale = ScaleContinuousNumeric<number, number>;

export interface Axis {
  readonly label: string;
  readonly domain: readonly [number, number];
  /** By powers of ten; the domain must be above 0. */
  readonly log?: boolean;
  readonly format?: (value: number) => string;
}

export function scaleOf({ domain, log }: Axis, range: readonly [number, number]): Scale {
  return log ? scaleLog(domain, range).clamp(true) : scaleLinear(domain, range);
}

/** Short numbers for ticks: 1,200 and 45k and 0.05. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (size >= 10_000) return `${trimmed(value / 1e3)}k`;
  return size >= 1000 ? value.toLocaleString('en') : trimmed(value);
}

const trimmed = (value: number): string => String(Number(value.toPrecision(3)));

/** Round values that are shown at an axis. */
export function ticksOf(scale: Scale, axis: Axis, count: number): number[] {
  const ticks = scale.ticks(count);
  return axis.log ? ticks.filter((tick) => Number.isInteger(Math.round(Math.log10(tick) * 1e9) / 1e9)) : ticks;
}

export function xAxis(scale: Scale, axis: Axis, { x, y, width, height }: Box): string {
  const format = axis.format ?? short;
  const ticks = ticksOf(scale, axis, Math.max(2, Math.floor(width / 90)));
  return [
    element('path', { class: 'axis', d: `M${x},${y + height}h${width}` }),
    ...ticks.map((tick) => text(format(tick), { class: 'quiet', x: scale(tick), y: y + height + 15, 'text-anchor': 'middle' })),
    text(axis.label, { class: 'quiet', x: x + width, y: y + height + 30, 'text-anchor': 'end' }),
  ].join('');
}

export function yAxis(scale: Scale, axis: Axis, { x, y, width, height }: Box): string {
  const format = axis.format ?? short;
  return [
    ...ticksOf(scale, axis, Math.max(2, Math.floor(height / 40))).map(
      (tick) =>
        element('path', { class: 'rule', d: `M${x},${Math.round(scale(tick))}h${width}` }) +
        text(format(tick), { class: 'quiet', x: x - 6, y: Math.round(scale(tick)) + 4, 'text-anchor': 'end' }),
    ),
    text(axis.label, { class: 'quiet', x: x - 34, y: y - 8 }),
  ].join('');
}
