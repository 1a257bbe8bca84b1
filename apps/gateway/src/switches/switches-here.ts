import {
  completed,
  isOn,
  isSwitchEnd,
  SWITCH_END_EXPECTED,
  MOST_SWITCHES,
  objectFaults,
  SWITCH_FIELDS,
  SWITCH_NAMES,
  shown,
  type Layer,
  type Switch,
} from '#limiter';
import { ProblemError } from '#platform';

/** As much of an enforcer as switches need. */
export interface Switchable {
  /** Everything that is on, for this gateway or for all. */
  switches(): readonly Switch[] | Promise<readonly Switch[]>;
  switchHere(switches: readonly Switch[]): void;
}

/** What is switched on for this gateway alone, while neither Redis nor the Rules API can be reached. A restart forgets it. */
export class SwitchesHere {
  private here: readonly Switch[] = [];

  constructor(
    private readonly enforcer: Switchable,
    private readonly nowMs: () => number = Date.now,
  ) {}

  async all(): Promise<readonly Switch[]> {
    return this.enforcer.switches();
  }

  /** @throws ProblemError 400 that names every wrong field, 404, 409 */
  put(name: string, body: Readonly<Record<string, unknown>>): void {
    const known = SWITCH_NAMES.find((each) => each === name);
    if (known === undefined) {
      const detail = `there is no switch ${shown(name)}; there are ${SWITCH_NAMES.join(' and ')}`;
      throw new ProblemError({ status: 404, code: 'switch.not_found', detail });
    }
    const { on, layer, merchantId, until } = this.checked(body);
    const one: Switch = { name: known, layer, merchantId, untilMs: until };
    const nowMs = this.nowMs();
    const others = this.here.filter(
      (each) => isOn(each, nowMs) && !(each.name === known && each.layer === layer && each.merchantId === merchantId),
    );
    if (on && others.length >= MOST_SWITCHES)
      throw new ProblemError({ status: 409, code: 'switch.too_many', detail: `at most ${MOST_SWITCHES} switches may be on at once` });
    this.here = on ? [...others, one] : others;
    this.enforcer.switchHere(this.here);
  }

  private checked(body: Readonly<Record<string, unknown>>) {
    const faults = objectFaults(body, SWITCH_FIELDS, { pointer: '', code: 'switch' });
    const { on, layer, merchantId, until } = completed(body, SWITCH_FIELDS) as Record<string, string | boolean | null | undefined>;
    const untilMs = typeof until === 'string' ? Date.parse(until) : null;
    const nowMs = this.nowMs();
    if (faults.length === 0 && untilMs !== null && !isSwitchEnd(untilMs, nowMs)) {
      const detail = `${SWITCH_END_EXPECTED}, got ${shown(until)}`;
      faults.push({ pointer: '/until', code: 'switch.until.out_of_range', detail });
    }
    if (faults.length > 0)
      throw new ProblemError({
        status: 400,
        type: 'invalid-body',
        code: 'body.invalid',
        detail: 'a field of the body is wrong',
        errors: faults,
      });
    return { on: on === true, layer: (layer ?? null) as Layer | null, merchantId: (merchantId ?? null) as string | null, until: untilMs };
  }
}
