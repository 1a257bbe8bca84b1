import type { Logger } from '#platform';
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeWhatIsHandedTo } from './handed-connection.js';
import { isAnswer, isProgress, STANDS_BY, type About, type Progress, type Question, type Serve, type SwitchedHere } from './messages.js';

export interface WorkerPoolOptions {
  readonly count: number;
  /** Workers beside these that are warm, and wait until one of these ends. */
  readonly standbys: number;
  readonly logger: Logger;
  /** What a worker may take to end. Milliseconds. */
  readonly graceMs: number;
  /** Called once if no worker has come up: whatever is wrong is wrong for all of them. @param exitCode of a worker */
  readonly onStartFailed: (exitCode: number) => void;
}

/** A worker that does not answer within this many milliseconds is left out. */
const ANSWER_WITHIN_MS = 1_000;
/** The same for one that was started by a reload, until it serves: then the reload stops, and the former workers stay. */
const SERVES_WITHIN_MS = 60_000;
/** How long after the last one a worker is started that ended soon after its start: from the first to the longest pause, in milliseconds. */
const PAUSES_MS = { first: 100, most: 10_000 };
/** A worker that has run so long, in milliseconds, did not end because of how it starts. */
const LONG_MS = 10_000;
/** Before its grace is over, in milliseconds: who has not ended by then is killed, so that nobody outlives the primary. */
const KILLED_BEFORE_MS = 100;
const SERVE: Serve = { tollgate: 'serve' };

interface Member {
  readonly worker: Worker;
  /** Since when it has been one of those that are to serve, or has stood by. */
  sinceMs: number;
  standsBy: boolean;
  /** It could serve at once. */
  warm: boolean;
  serves: boolean;
  /** Told to end. */
  ending: boolean;
  /** Resolves once it serves. */
  readonly serving: Promise<void>;
  readonly onServing: () => void;
  readonly ended: Promise<void>;
}

/** The processes that serve one port together: as many as there should be, whatever happens to one. */
export class WorkerPool {
  /** Workers that ended without having been told to. */
  deaths = 0;
  private readonly members = new Set<Member>();
  private readonly waiting = new Map<number, (value: unknown) => void>();
  private readonly stopping = new AbortController();
  private questions = 0;
  private soonDeaths = 0;
  private hasServed = false;
  private reloading: Promise<void> | undefined;
  private mostStandbys: number;
  private switched: SwitchedHere = { tollgate: 'switched here', switches: [] };

  constructor(private readonly options: WorkerPoolOptions) {
    this.mostStandbys = options.standbys;
    cluster.setupPrimary({ serialization: 'advanced' });
  }

  /** Workers that serve. */
  get serving(): number {
    return [...this.members].filter(({ serves, ending }) => serves && !ending).length;
  }

  /** Workers that could serve at once, and wait until one of the others ends. */
  get standingBy(): number {
    return this.standbys.filter(({ warm }) => warm).length;
  }

  get count(): number {
    return this.options.count;
  }

  start(): void {
    for (let i = 0; i < this.options.count; i++) this.startOne();
  }

  private get standbys(): Member[] {
    return [...this.members].filter(({ standsBy, ending }) => standsBy && !ending);
  }

  /** Those that serve, or are on the way to it. */
  private get active(): Member[] {
    return [...this.members].filter(({ standsBy, ending }) => !standsBy && !ending);
  }

  /** Replaces all workers, one after the other, each once its successor serves. A reload that is asked for meanwhile is this one. */
  reload(): Promise<void> {
    this.reloading ??= this.replaceAll().finally(() => (this.reloading = undefined));
    return this.reloading;
  }

  /** Ends all workers, and kills those that do not end within the grace. */
  async stop(): Promise<void> {
    this.stopping.abort();
    const killed = setTimeout(
      () => {
        for (const { worker } of this.members) worker.process.kill('SIGKILL');
      },
      Math.max(0, this.options.graceMs - KILLED_BEFORE_MS),
    );
    await Promise.all([...this.members].map((member) => this.end(member)));
    clearTimeout(killed);
  }

  /** What the workers answer that serve, in no order. Whoever does not answer in time is left out. */
  async ask(about: About): Promise<unknown[]> {
    const asked = [...this.members].filter(({ serves }) => serves);
    return (await Promise.all(asked.map(({ worker }) => this.askOne(worker, about)))).filter((answer) => answer !== undefined);
  }

  /** Tells all workers, and those to come, what is switched on here. */
  switchHere(switches: unknown): void {
    this.switched = { ...this.switched, switches };
    for (const { worker } of this.members) tell(worker, this.switched);
  }

  private startOne({ standsBy = false } = {}): Member {
    const worker = cluster.fork(standsBy ? { [STANDS_BY]: '1' } : {});
    closeWhatIsHandedTo(worker);
    const { promise: serving, resolve: onServing } = deferred();
    const member: Member = {
      worker,
      serving,
      onServing,
      sinceMs: performance.now(),
      standsBy,
      warm: false,
      serves: false,
      ending: false,
      ended: new Promise((resolve) => void worker.once('exit', () => resolve())),
    };
    this.members.add(member);
    worker.on('message', (message: unknown) => this.hear(member, message));
    // A worker that cannot be started, or told something, ends or has ended.
    worker.on('error', (err) => this.options.logger.error({ err, workerPid: worker.process.pid }, 'a worker cannot be reached'));
    worker.once('exit', (code, signal) => this.hasEnded(member, code, signal));
    return member;
  }

  private hasEnded(member: Member, code: number | null, signal: string | null): void {
    this.members.delete(member);
    if (member.ending || this.stopping.signal.aborted) return;
    this.deaths++;
    const { logger, onStartFailed } = this.options;
    const ended = { workerPid: member.worker.process.pid, stoodBy: member.standsBy, code, signal };
    if (!this.hasServed) {
      this.stopping.abort();
      logger.fatal(ended, 'a worker has ended before any could serve, the gateway ends');
      onStartFailed(code ?? 1);
      return;
    }
    logger.error(ended, 'a worker has ended, another one takes its place');
    void this.replaceDead(performance.now() - member.sinceMs);
  }

  private async replaceDead(livedMs: number): Promise<void> {
    this.soonDeaths = livedMs < LONG_MS ? this.soonDeaths + 1 : 0;
    const pauseMs = this.soonDeaths < 2 ? 0 : Math.min(PAUSES_MS.most, PAUSES_MS.first * 2 ** (this.soonDeaths - 2));
    await sleep(pauseMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    if (this.stopping.signal.aborted) return;
    // While a reload replaces workers there may be one too many for a while.
    if (this.active.length < this.options.count && !this.promoteOne()) this.startOne();
    this.fillStandbys();
  }

  /** Lets one that stands by serve, one that is warm if there is any. In a reload they are of the former build. */
  private promoteOne(): boolean {
    if (this.reloading !== undefined) return false;
    const [promoted] = this.standbys.sort((a, b) => Number(b.warm) - Number(a.warm));
    if (promoted === undefined) return false;
    promoted.standsBy = false;
    promoted.sinceMs = performance.now();
    // One that does not hear yet is told when it does.
    tell(promoted.worker, SERVE);
    return true;
  }

  /** Once all workers serve: before that the cores are theirs. */
  private fillStandbys(): void {
    if (this.stopping.signal.aborted || this.serving < this.options.count) return;
    for (let i = this.standbys.length; i < this.mostStandbys; i++) this.startOne({ standsBy: true });
  }

  private async replaceAll(): Promise<void> {
    const { logger } = this.options;
    const former = this.active;
    logger.info({ workers: former.length }, 'reloading: each worker is replaced');
    for (const member of former) {
      if (this.stopping.signal.aborted) return;
      const successor = this.startOne();
      if (!(await this.servesInTime(successor))) {
        logger.error(
          { workerPid: successor.worker.process.pid },
          'a new worker does not serve: the reload stops, and the former workers stay',
        );
        await this.end(successor);
        return;
      }
      await this.end(member);
    }
    await Promise.all(this.standbys.map((standby) => this.end(standby)));
    this.fillStandbys();
    logger.info({ workers: former.length }, 'reloaded');
  }

  private async servesInTime(member: Member): Promise<boolean> {
    const tooLate = new AbortController();
    const { signal } = tooLate;
    await Promise.race([member.serving, member.ended, sleep(SERVES_WITHIN_MS, undefined, { signal }).catch(() => undefined)]);
    tooLate.abort();
    return member.serves && this.members.has(member);
  }

  private async end(member: Member): Promise<void> {
    member.ending = true;
    member.worker.process.kill('SIGTERM');
    await member.ended;
  }

  private async askOne(worker: Worker, about: About): Promise<unknown> {
    const id = ++this.questions;
    const question: Question = { tollgate: 'question', id, about };
    return new Promise((resolve) => {
      const answered = (value: unknown): void => {
        clearTimeout(timer);
        this.waiting.delete(id);
        resolve(value);
      };
      const timer = setTimeout(answered, ANSWER_WITHIN_MS, undefined);
      this.waiting.set(id, answered);
      tell(worker, question);
    });
  }

  private hear(member: Member, message: unknown): void {
    if (isAnswer(message)) this.waiting.get(message.id)?.(message.value);
    if (isProgress(message)) this.follow(member, message);
  }

  private follow(member: Member, { tollgate: stage }: Progress): void {
    if (member.ending) return;
    if (stage === 'hears') {
      tell(member.worker, this.switched);
      if (!member.standsBy) tell(member.worker, SERVE);
    } else if (stage === 'stands by') {
      member.warm = true;
    } else if (member.standsBy) {
      // Of an older build, which a reload to that build has started.
      this.mostStandbys = 0;
      void this.end(member);
    } else {
      member.serves = true;
      this.hasServed = true;
      member.onServing();
      this.fillStandbys();
    }
  }
}

/** What cannot be told has ended, or is about to. */
function tell(worker: Worker, message: Question | Serve | SwitchedHere): void {
  if (worker.isConnected()) worker.process.send(message, undefined, undefined, () => undefined);
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((resolved) => (resolve = resolved));
  return { promise, resolve };
}
