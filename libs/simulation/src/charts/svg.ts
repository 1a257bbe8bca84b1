/** SVG as text: the few elements that charts need, with everything escaped that comes from outside. */

export type Attributes = Record<string, string | number | undefined>;

/** One element. Children are SVG already; `text` makes it of words. Numbers keep two decimals, undefined leaves out. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escape(typeof value === 'number' ? String(Math.round(value * 100) / 100) : value!)}"`)
    .join('');
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join('')}</${name}>`;
}

export const text = (words: string, attributes: Attributes): string => element('text', attributes, escape(words));

export function escape(words: string): string {
  return words.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
