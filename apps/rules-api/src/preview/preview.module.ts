import { Module } from '@nestjs/common';
import type { RouteBodies } from '#platform';
import { MAX_PREVIEW_BYTES } from './preview-fields.js';
import { PreviewController } from './preview.controller.js';
import { PreviewService } from './preview.service.js';

@Module({ controllers: [PreviewController], providers: [PreviewService] })
export class PreviewModule {}

/** What the route of this module reads. */
export const PREVIEW_BODIES: Readonly<Record<string, RouteBodies>> = { '/v1/rules/preview': { limitBytes: MAX_PREVIEW_BYTES } };
