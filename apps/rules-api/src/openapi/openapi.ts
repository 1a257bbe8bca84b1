import { type INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { HistoryModule } from '../history/history.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { RulesModule } from '../rules/rules.module.js';
import { TokensModule } from '../tokens/tokens.module.js';

/** Serves the OpenAPI document at /openapi.json and readable at /docs, without a token. */
export function serveOpenApi(app: INestApplication): void {
  SwaggerModule.setup('docs', app, openApiDocument(app), { jsonDocumentUrl: 'openapi.json', raw: ['json'] });
}

/** The document of an app that is complete but for its start. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const frame = new DocumentBuilder()
    .setTitle('Tollgate Rules API')
    .setDescription(
      'Merchants and the rules that limit their requests. A change needs If-Match with the ETag that was read. ' +
        'Every error is a problem (RFC 9457); where a field is wrong, errors points at it.',
    )
    .setVersion('1')
    .addBearerAuth()
    .build();
  const document = SwaggerModule.createDocument(app, frame, { include: [MerchantsModule, RulesModule, HistoryModule, TokensModule] });
  const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;
  closeObjects(schemas);
  for (const { properties = {} } of Object.values(schemas)) {
    for (const [name, property] of Object.entries(properties)) properties[name] = withNull(property, schemas);
  }
  return document;
}

interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly nullable?: boolean;
  readonly allOf?: readonly { readonly $ref: string }[];
}

/** In OpenAPI 3.0 a reference beside `nullable` still refuses null, because the schema that it names does: so that one is written out. */
function withNull(property: Schema, schemas: Readonly<Record<string, Schema>>): Schema {
  const named = property.nullable && property.allOf?.length === 1 ? schemas[property.allOf[0]!.$ref.replace(/^.*\//, '')] : undefined;
  if (named === undefined) return property;
  const { allOf: _reference, ...rest } = property;
  return { ...named, ...rest };
}

/** Fields that are not known are refused, and none are sent: the document says so of every object. */
function closeObjects(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  const { type, properties } = schema as { type?: unknown; properties?: unknown };
  if (type === 'object' && typeof properties === 'object') (schema as { additionalProperties?: unknown }).additionalProperties = false;
  for (const below of Object.values(schema)) closeObjects(below);
}
