import { isPlainObject } from '#limiter';

/**
 * What the processes of a gateway tell each other. A worker may be of a newer build than its primary, because a reload starts workers from what stands on
 * the disk: what is not understood is ignored, and a question without an answer has a deadline.
 */
const QUESTIONS = ['readiness', 'metrics', 'switches'] as const;
export type About = (typeof QUESTIONS)[number];

export interface Question {
  readonly tollgate: 'question';
  readonly id: number;
  readonly about: About;
}

export interface Answer {
  readonly tollgate: 'answer';
  readonly id: number;
  readonly value: unknown;
}

/** The switches of this gateway alone, all of them. */
export interface SwitchedHere {
  readonly tollgate: 'switched here';
  readonly switches: unknown;
}

/** To a worker that stands by: it takes the place of one that has ended. */
export interface Serve {
  readonly tollgate: 'serve';
}

/**
 * Set in the environment of a worker that is to stand by. What is said by a message alone would leave a worker of a newer build waiting for ever under a
 * primary that knows no such message.
 */
export const STANDS_BY = 'TOLLGATE_WORKER_STANDS_BY';

/** How far a worker is: it hears what it is told (what came before that is lost), it is warm and stands by, it serves the port (to warm up it listens on others before). */
const STAGES = ['hears', 'stands by', 'serves'] as const;

export interface Progress {
  readonly tollgate: (typeof STAGES)[number];
}

export function isProgress(message: unknown): message is Progress {
  return isPlainObject(message) && STAGES.includes(message['tollgate'] as Progress['tollgate']);
}

export function isQuestion(message: unknown): message is Question {
  return isPlainObject(message) && message['tollgate'] === 'question' && QUESTIONS.includes(message['about'] as About);
}

export function isAnswer(message: unknown): message is Answer {
  return isPlainObject(message) && message['tollgate'] === 'answer' && typeof message['id'] === 'number';
}

export function isServe(message: unknown): message is Serve {
  return isPlainObject(message) && message['tollgate'] === 'serve';
}

export function isSwitchedHere(message: unknown): message is SwitchedHere {
  return isPlainObject(message) && message['tollgate'] === 'switched here';
}
