import { Controller, Get, Header } from '@nestjs/common';
import { type JsonSchema, ruleSchema } from '#limiter';
import { Public } from '#platform';
import { configurationSchema } from '../configuration/configuration-schema.js';

/** The JSON Schemas of what administrators write, for their editors. */
@Public()
@Controller('schema')
export class SchemasController {
  private readonly configuration = configurationSchema();
  private readonly rule = ruleSchema();

  @Get('configuration.json')
  @Header('content-type', 'application/schema+json')
  ofConfiguration(): JsonSchema {
    return this.configuration;
  }

  @Get('rule.json')
  @Header('content-type', 'application/schema+json')
  ofRule(): JsonSchema {
    return this.rule;
  }
}
