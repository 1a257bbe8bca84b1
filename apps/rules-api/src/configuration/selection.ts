import type { Labels } from '#limiter';
import { ProblemError } from '#platform';
import { badBody, MAX_ERRORS } from '../http/validation.pipe.js';
import { labelIn } from '../pagination/label-filter.js';
import type { Configuration } from './configuration.dto.js';

/** The label by which a document selects what it manages. Without one it manages everything that it names. */
export interface Selection {
  readonly key: string;
  readonly value: string;
}

/** Something that has labels; what was stored before labels were thought of has none. */
interface Labelled {
  readonly labels?: Labels | undefined;
}

export function selectionIn(select: string | undefined): Selection | undefined {
  return select === undefined ? undefined : labelIn(select);
}

/** Whether something is managed. */
export function isSelected(selection: Selection | undefined, { labels }: Labelled): boolean {
  return (
    selection === undefined || (labels !== undefined && Object.hasOwn(labels, selection.key) && labels[selection.key] === selection.value)
  );
}

/**
 * Every rule of a document has to carry the label that selects what the document manages: otherwise it would be created, and the next apply would not know it.
 * @throws ProblemError 400 that names the first rules without it
 */
export function demandSelected({ plans, merchants, defaultRules = [] }: Configuration, selection: Selection | undefined): void {
  if (selection === undefined) return;
  const detail = `must have the label ${selection.key}=${selection.value}, because select asks for it`;
  const lists = [
    ...plans.map(({ rules }, i) => ({ rules, pointer: `/plans/${i}/rules` })),
    ...merchants.map(({ rules }, i) => ({ rules, pointer: `/merchants/${i}/rules` })),
    { rules: defaultRules, pointer: '/defaultRules' },
  ];
  const faults = lists.flatMap(({ rules, pointer }) =>
    rules.flatMap((rule, i) =>
      isSelected(selection, rule) ? [] : [{ pointer: `${pointer}/${i}/labels`, code: 'rule.labels.not_selected', detail }],
    ),
  );
  if (faults.length > 0) throw badBody(faults.slice(0, MAX_ERRORS));
}

/** A document names what stands without the label: it would be taken over, or changed from outside. */
export function notSelected(what: string, { key, value }: Selection): ProblemError {
  const detail = `${what} does not have the label ${key}=${value}, so select leaves it alone; give it the label first, or choose another name`;
  return new ProblemError({ status: 409, code: 'apply.not_selected', detail });
}
