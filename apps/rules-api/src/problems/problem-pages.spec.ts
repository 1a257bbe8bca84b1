import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULT_REASONS, RULE_WARNINGS, WRITING_REASONS } from '#limiter';
import { PROBLEM_TYPE_NAMES } from '#platform';
import { AUDIT_ACTIONS } from '#rules-db';
import { readProblemPages } from './problem-pages.js';

const ROOT = join(import.meta.dirname, '../../../..');

describe('the pages of problem types', () => {
  it('each problem type has a page, and each page has a problem type', () => {
    const files = readdirSync(join(ROOT, 'docs/problems')).map((name) => name.replace(/\.md$/, ''));
    expect(files.sort()).toEqual([...PROBLEM_TYPE_NAMES].sort());
  });

  it.each([...readProblemPages()])('%s: the page says what happened, why, and what to do', (_type, page) => {
    const headings = page.split('\n').filter((line) => line.startsWith('#'));
    expect(headings).toEqual([expect.stringMatching(/^# /), '## What happened', '## Why', '## What to do']);
  });

  it('the page of invalid bodies explains every reason for which a field is refused, and every warning', () => {
    const page = readProblemPages().get('invalid-body');
    for (const [reason, meaning] of Object.entries({ ...FAULT_REASONS, ...WRITING_REASONS, ...RULE_WARNINGS }))
      expect(page).toContain(`| \`${reason}\` | ${meaning} |`);
  });

  it('each code with which the source answers a problem stands on a page', () => {
    const pages = [...readProblemPages().values()].join('\n');
    const codes = SOURCES.flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/'([a-z_]+(?:\.[a-z0-9_]+)+)'/g)].map(([, code]) => code!),
    ).filter((code) => !isFieldCode(code) && !(AUDIT_ACTIONS as readonly string[]).includes(code));
    expect(codes.length).toBeGreaterThan(40);
    expect(codes.filter((code) => !pages.includes(`\`${code}\``))).toEqual([]);
  });
});

/** The page of invalid bodies explains these by their last part. */
const isFieldCode = (code: string) => code.split('.').length === 3 && code.split('.').at(-1)! in FAULT_REASONS;

/** The files that say which code a problem has. */
const SOURCES = [
  'apps/gateway/src/proxy/problems.ts',
  'apps/decision-api/src/callers/caller-limit.ts',
  'apps/decision-api/src/callers/callers.ts',
  'apps/decision-api/src/forward-auth/forwarded-request.ts',
  'apps/decision-api/src/http/decision-server.ts',
  'apps/decision-api/src/http/errors.ts',
  'apps/decision-api/src/http/request-body.ts',
  'apps/decision-api/src/http/valid-body.ts',
  'apps/decision-api/src/http/wait-call.ts',
  'apps/gateway/src/switches/switches-here.ts',
  'apps/gateway/src/switches/switches.controller.ts',
  'apps/rules-api/src/approvals/approved-changes.ts',
  'apps/rules-api/src/approvals/approvals.service.ts',
  'apps/rules-api/src/auth/access.guard.ts',
  'apps/rules-api/src/auth/forbidden.ts',
  'apps/rules-api/src/auth/authenticator.ts',
  'apps/rules-api/src/auth/logins.ts',
  'apps/rules-api/src/auth/stored-logins.ts',
  'apps/rules-api/src/auth/oidc-claims.ts',
  'apps/rules-api/src/auth/oidc-logins.ts',
  'apps/rules-api/src/buckets/buckets.service.ts',
  'apps/rules-api/src/buckets/live-reports.ts',
  'apps/rules-api/src/decisions/decisions.service.ts',
  'apps/rules-api/src/explain/explain.service.ts',
  'apps/rules-api/src/configuration/configuration.service.ts',
  'apps/rules-api/src/configuration/document.ts',
  'apps/rules-api/src/configuration/planned-changes.ts',
  'apps/rules-api/src/configuration/selection.ts',
  'apps/rules-api/src/configuration/yaml-body.ts',
  'apps/rules-api/src/history/history.service.ts',
  'apps/rules-api/src/http/approval-needed.ts',
  'apps/rules-api/src/http/change-reason.ts',
  'apps/rules-api/src/http/entity-tag.ts',
  'apps/rules-api/src/http/idempotency.interceptor.ts',
  'apps/rules-api/src/http/invalid-query.ts',
  'apps/rules-api/src/http/known-query.guard.ts',
  'apps/rules-api/src/http/path-ids.ts',
  'apps/rules-api/src/http/validation.pipe.ts',
  'apps/rules-api/src/overrides/overrides.service.ts',
  'apps/rules-api/src/pagination/page.ts',
  'apps/rules-api/src/http/rules-api-exception.filter.ts',
  'apps/rules-api/src/me/me.service.ts',
  'apps/rules-api/src/merchants/merchants.service.ts',
  'apps/rules-api/src/preview/preview.service.ts',
  'apps/rules-api/src/preview/sample.ts',
  'apps/rules-api/src/problems/problems.controller.ts',
  'apps/rules-api/src/rules/rule-warnings.ts',
  'apps/rules-api/src/rules/rules.service.ts',
  'apps/rules-api/src/rules/unreadable-rules.ts',
  'apps/rules-api/src/tokens/tokens.service.ts',
  'libs/edge/src/identity-refusals.ts',
  'libs/edge/src/path-problems.ts',
  'libs/node-middleware/src/describe.ts',
  'libs/node-middleware/src/passage.ts',
  'libs/edge/src/refusals.ts',
  'libs/platform/src/bearer-token.ts',
  'libs/platform/src/http-app.ts',
  'libs/platform/src/json-body.ts',
  'libs/platform/src/problem-details.filter.ts',
];
