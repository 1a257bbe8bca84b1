import { compileTemplate, type BodyTemplate, type CorsOrigins, type RefusalHtml, type TemplateValues } from '#platform';
import type { OwnAnswer, Present } from '../proxy/index.js';
import { withCors } from './cors.js';
import { prefersHtml } from './prefers-html.js';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{title}}</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem}small{color:#666}</style>
</head>
<body>
<h1>{{title}}</h1>
<p>{{detail}}</p>
<p><small>{{status}} · {{code}} · {{requestId}}</small></p>
</body>
</html>
`;

export interface PresentOptions {
  /** Instead of problem details. */
  readonly body: BodyTemplate | undefined;
  readonly html: RefusalHtml;
  /** Whose pages may read it. */
  readonly origins: CorsOrigins;
}

/** How the gateway's own answers look to clients; undefined: as the problem details that they are. */
export function createPresent({ body, html, origins }: PresentOptions): Present | undefined {
  const written = createWritten(body, html);
  if (origins.length === 0) return written;
  return (answer, sent) => withCors(written === undefined ? answer : written(answer, sent), origins, sent('origin'));
}

function createWritten(body: BodyTemplate | undefined, html: RefusalHtml): Present | undefined {
  const page = html === 'none' ? undefined : html === 'built-in' ? compileTemplate(PAGE, 'html') : html;
  if (page === undefined && body === undefined) return undefined;
  // Caches have to know that others get another body.
  const negotiated = page === undefined ? [] : ['Vary', 'Accept'];
  return (answer, sent) => {
    const template = page !== undefined && prefersHtml(sent('accept')) ? page : body;
    if (template === undefined) return { ...answer, headers: [...answer.headers, ...negotiated] };
    const headers = [...answer.headers, ...negotiated, 'Content-Type', template.contentType, 'X-Content-Type-Options', 'nosniff'];
    return { status: answer.status, headers, body: template.render(valuesOf(answer)) };
  };
}

/** What is said in the problem details of an answer. */
function valuesOf({ status, headers, body }: OwnAnswer): TemplateValues {
  const problem = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const said = (name: string) => (typeof problem[name] === 'string' ? problem[name] : null);
  const waits = headers.findIndex((name, i) => i % 2 === 0 && name === 'Retry-After');
  return {
    type: said('type'),
    code: said('code'),
    title: said('title'),
    status,
    detail: said('detail'),
    requestId: said('requestId'),
    retryAfter: waits === -1 ? null : Number(headers[waits + 1]),
    rule: said('ruleName'),
    limits: (problem['violated-policies'] as readonly string[] | undefined) ?? [],
  };
}
