import { Inject, Injectable } from '@nestjs/common';
import { isSwitchEnd, SWITCH_END_EXPECTED, type Layer, type SwitchName } from '#limiter';
import { type Actor, SwitchRepository, type SwitchScope } from '#rules-db';
import { badBody } from '../http/validation.pipe.js';
import { switchView, type SwitchDto, type SwitchView } from './switch.dto.js';

@Injectable()
export class SwitchesService {
  constructor(@Inject(SwitchRepository) private readonly switches: SwitchRepository) {}

  async get(name: SwitchName): Promise<SwitchView> {
    return switchView(name, await this.switches.list(name));
  }

  async put(name: SwitchName, { on, layer, merchantId, until, reason }: SwitchDto, by: Actor): Promise<SwitchView> {
    // The form of the field has been checked: it is one of the layers.
    const scope: SwitchScope = { layer: (layer ?? null) as Layer | null, merchantId: merchantId ?? null };
    const actor = reason === undefined ? by : { ...by, reason };
    if (on) await this.switches.switchOn(name, scope, endOf(until), actor);
    else await this.switches.switchOff(name, scope, actor);
    return this.get(name);
  }
}

function endOf(until: string | null | undefined): Date | null {
  if (until === undefined || until === null) return null;
  const untilMs = Date.parse(until);
  if (isSwitchEnd(untilMs, Date.now())) return new Date(untilMs);
  const detail = `${SWITCH_END_EXPECTED}, got ${JSON.stringify(until)}`;
  throw badBody([{ pointer: '/until', code: 'switch.until.out_of_range', detail }]);
}
