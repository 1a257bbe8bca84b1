import { Inject, Injectable } from '@nestjs/common';
import { isSwitchEnd, SWITCH_END_EXPECTED, type Layer, type SwitchName } from '#limiter';
import { type Actor, type ExpectedVersions, SwitchRepository, type SwitchScope, type WantedSwitch } from '#rules-db';
import { badBody } from '../http/validation.pipe.js';
import { switchView, type SwitchDto, type SwitchView, type WrittenScope } from './switch.dto.js';

@Injectable()
export class SwitchesService {
  constructor(@Inject(SwitchRepository) private readonly switches: SwitchRepository) {}

  async get(name: SwitchName): Promise<SwitchView> {
    return switchView(name, await this.switches.find(name));
  }

  /** @throws VersionConflictError, TooManySwitchesError, ProblemError 400 */
  async put(name: SwitchName, expected: ExpectedVersions, { on, layer, merchantId, until }: SwitchDto, by: Actor): Promise<SwitchView> {
    const change = { name, expected, by };
    if (typeof on !== 'boolean') {
      demandAlone({ layer, merchantId, until });
      await this.switches.replaceAll(change, scopesOf(on));
    } else if (on) await this.switches.switchOn(change, scopeOf({ layer, merchantId }), endOf(until));
    else await this.switches.switchOff(change, scopeOf({ layer, merchantId }));
    return this.get(name);
  }
}

/** The form of the fields has been checked: it is one of the layers. */
function scopeOf({ layer, merchantId }: WrittenScope): SwitchScope {
  return { layer: (layer ?? null) as Layer | null, merchantId: merchantId ?? null };
}

/** A list says of each scope what these would say of one. */
function demandAlone(fields: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(fields).filter((name) => fields[name] !== undefined);
  if (given.length === 0) return;
  const detail = 'belongs to each scope where on is a list of scopes';
  throw badBody(given.map((name) => ({ pointer: `/${name}`, code: `switch.${name}.not_applicable`, detail })));
}

function scopesOf(on: readonly WrittenScope[]): WantedSwitch[] {
  const known = new Set<string>();
  return on.map((written, i) => {
    const scope = scopeOf(written);
    const text = JSON.stringify([scope.layer, scope.merchantId]);
    if (known.has(text))
      throw badBody([{ pointer: `/on/${i}`, code: 'switch.on.repeated', detail: 'has the scope of another one in the list' }]);
    known.add(text);
    return { ...scope, until: endOf(written.until, `/on/${i}/until`), reason: written.reason ?? null };
  });
}

function endOf(until: string | null | undefined, pointer = '/until'): Date | null {
  if (until === undefined || until === null) return null;
  const untilMs = Date.parse(until);
  if (isSwitchEnd(untilMs, Date.now())) return new Date(untilMs);
  const detail = `${SWITCH_END_EXPECTED}, got ${JSON.stringify(until)}`;
  throw badBody([{ pointer, code: 'switch.until.out_of_range', detail }]);
}
