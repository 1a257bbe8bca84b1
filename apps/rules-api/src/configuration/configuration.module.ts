import { Module } from '@nestjs/common';
import type { RouteBodies } from '#platform';
import { ConfigurationController } from './configuration.controller.js';
import { ConfigurationService } from './configuration.service.js';
import { DocumentText } from './document-text.js';
import { parseYaml } from './yaml-body.js';

@Module({ controllers: [ConfigurationController], providers: [ConfigurationService] })
export class ConfigurationModule {}

/** 100,000 rules take about 30 MB of JSON. */
const MAX_DOCUMENT_BYTES = 48 * 1024 * 1024;

/** What the routes of this module read. */
export const CONFIGURATION_BODIES: Readonly<Record<string, RouteBodies>> = {
  '/v1/apply': {
    limitBytes: MAX_DOCUMENT_BYTES,
    parsers: { 'application/json': (body) => DocumentText.ofJson(body), 'application/yaml': parseYaml },
  },
};
