import { ApiProperty } from '@nestjs/swagger';
import { LAYERS, type Layer } from '#limiter';

/** Where a switch is on, and until when. */
export class SwitchScopeView {
  @ApiProperty({ enum: LAYERS, nullable: true, description: 'The layer; null for all layers' })
  layer: Layer | null;

  @ApiProperty({ type: String, nullable: true, example: 'acme', description: 'The merchant; null for all merchants' })
  merchantId: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the switch ends by itself; null if only an administrator ends it',
  })
  until: string | null;
}
