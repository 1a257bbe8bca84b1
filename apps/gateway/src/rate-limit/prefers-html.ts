const HTML = ['text/html', 'application/xhtml+xml'];
const JSON_TYPES = ['application/json', 'application/problem+json'];

/**
 * Whether a client would rather have a page than JSON, by its Accept header (RFC 9110, 12.5.1). Only what it names counts: who takes anything, like curl,
 * is a program.
 *
 * @param accept its values, one for each line
 */
export function prefersHtml(accept: readonly string[]): boolean {
  let html = 0;
  let json = 0;
  for (const range of accept.join(',').toLowerCase().split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim());
    const weight = weightOf(parameters);
    if (HTML.includes(type!)) html = Math.max(html, weight);
    else if (JSON_TYPES.includes(type!)) json = Math.max(json, weight);
  }
  return html > json;
}

/** 1 unless a valid one is given. */
function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return given !== undefined && /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(given) ? Number(given) : 1;
}
