import type { ValueTransformer } from 'typeorm';
import type { Mode } from '#limiter';

/** A mode in its column of type text: its name, or JSON where it is an object, which readers of before know for something that they cannot read. */
export function modeText(mode: Mode): string {
  return typeof mode === 'string' ? mode : JSON.stringify(mode);
}

/** What stands in the column, which may be any text: `storedRule` says whether it is a mode. */
export function storedMode(text: unknown): unknown {
  if (typeof text !== 'string' || !text.startsWith('{')) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export const modeColumn: ValueTransformer = {
  to: (mode: unknown) => (typeof mode === 'object' ? modeText(mode as Mode) : mode),
  from: storedMode,
};
