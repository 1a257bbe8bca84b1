import { ApiProperty } from '@nestjs/swagger';

/** What is shown of everything that counts its changes. */
export class VersionedView {
  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Counts the changes. In double quotes it is the ETag.' })
  version: number;

  @ApiProperty({ type: String, format: 'date-time' })
  createdAt: string;

  @ApiProperty({ type: String, format: 'date-time' })
  updatedAt: string;
}

/** @param stored a row of the database */
export function versionedView(stored: { readonly version: number; readonly createdAt: Date; readonly updatedAt: Date }): VersionedView {
  return { version: stored.version, createdAt: stored.createdAt.toISOString(), updatedAt: stored.updatedAt.toISOString() };
}
