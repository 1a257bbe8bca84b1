import type { Fault, Labels } from '#limiter';
import { ProblemError } from '#platform';
import { labelIn } from '../pagination/label-filter.js';

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

/** Of a rule of a document without the label that selects what the document manages. */
export function unselectedRule(pointer: string, { key, value }: Selection): Fault {
  return { pointer, code: 'rule.labels.not_selected', detail: `must have the label ${key}=${value}, because select asks for it` };
}

/** A document names what stands without the label: it would be taken over, or changed from outside. */
export function notSelected(what: string, { key, value }: Selection): ProblemError {
  const detail = `${what} does not have the label ${key}=${value}, so select leaves it alone; give it the label first, or choose another name`;
  return new ProblemError({ status: 409, code: 'apply.not_selected', detail });
}
