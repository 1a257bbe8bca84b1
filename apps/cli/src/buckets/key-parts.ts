import { Option } from '@commander-js/extra-typings';
import type { Faults } from '../shared/options.js';

type Parts = Readonly<Record<string, string>>;

/** A part of a key with what the request has there. Once for each part. */
export function keyPart(faults: Faults) {
  const option = new Option('--key <name=value>', 'a part of the key, like header.x-device-id=abc; once for each part');
  return option.argParser((text: string, before?: Parts): Parts => {
    const [name, value] = halves(text);
    if (value === undefined) faults.add(`--key must be a name and a value with = between; got ${text || 'nothing'}.`);
    return { ...before, [name]: value ?? '' };
  });
}

/** A part of a key that the request does not have. */
export function absentPart() {
  const option = new Option('--absent <name>', 'a part of the key that the request does not have; once for each part');
  return option.argParser((name: string, before: readonly string[] = []): readonly string[] => [...before, name]);
}

/** As the API has it: null stands for what is absent. */
export function keyOf(key: Parts | undefined, absent: readonly string[] = []): Record<string, string | null> | undefined {
  if (key === undefined && absent.length === 0) return undefined;
  return { ...key, ...Object.fromEntries(absent.map((name) => [name, null])) };
}

/** At the first `=`: names of fields may contain one only in a query. */
function halves(text: string): [string, string | undefined] {
  const at = text.indexOf('=');
  return at < 1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
