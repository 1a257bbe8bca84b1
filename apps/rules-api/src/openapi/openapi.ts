import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ApproveDto, RejectDto } from '../approvals/approval.dto.js';
import { AdjustBucketDto, BlockBucketDto, ResetBucketsDto, UnblockBucketDto } from '../buckets/bucket.dto.js';
import { CreateApiKeyDto, RotateApiKeyDto } from '../api-keys/api-key.dto.js';
import { ExplainDto } from '../explain/explain.dto.js';
import { PreviewDto } from '../preview/preview.dto.js';
import { ConfigurationDto } from '../configuration/configuration.dto.js';
import { RevertDto } from '../history/history.dto.js';
import { CreateMerchantDto, MerchantPatch, UpdateMerchantDto } from '../merchants/merchant.dto.js';
import { PlanDto } from '../plans/plan.dto.js';
import { ReplaceRuleDto, RuleDto, RulePatch, RuleView, WrittenRule } from '../rules/rule.dto.js';
import { CreateOverrideDto } from '../overrides/override.dto.js';
import { SwitchDto } from '../switches/switch.dto.js';
import { CreateTokenDto, RotateTokenDto } from '../tokens/token.dto.js';
import { MERCHANT_KEY_SCHEME, TOKEN_SCHEME } from './operations.js';
import { RotateSecretDto, SendDto, WebhookDto, WebhookPatch } from '../webhooks/webhook.dto.js';
import { RESOURCES } from '../resources.js';
import { addTableSchemas, patchSchema } from './table-schemas.js';

/** Serves the OpenAPI document at /openapi.json and readable at /docs, without a token. */
export function serveOpenApi(app: INestApplication): void {
  SwaggerModule.setup('docs', app, openApiDocument(app), { jsonDocumentUrl: 'openapi.json', raw: ['json'] });
}

/** Bodies that are described by tables of fields. */
const TABLE_DTOS = [
  RuleDto,
  ReplaceRuleDto,
  RuleView,
  WrittenRule,
  CreateMerchantDto,
  UpdateMerchantDto,
  PlanDto,
  RevertDto,
  CreateOverrideDto,
  CreateTokenDto,
  RotateTokenDto,
  CreateApiKeyDto,
  RotateApiKeyDto,
  ResetBucketsDto,
  AdjustBucketDto,
  BlockBucketDto,
  UnblockBucketDto,
  ExplainDto,
  PreviewDto,
  ConfigurationDto,
  ApproveDto,
  RejectDto,
  SwitchDto,
  WebhookDto,
  RotateSecretDto,
  SendDto,
];

/** The document of an app that is complete but for its start. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, frame(), {
    include: RESOURCES,
  });
  const schemas = ((document.components ??= {}).schemas ??= {}) as unknown as Parameters<typeof addTableSchemas>[0];
  addTableSchemas(schemas, TABLE_DTOS);
  schemas[RulePatch.name] = patchSchema(schemas[ReplaceRuleDto.name]!);
  schemas[MerchantPatch.name] = patchSchema(schemas[UpdateMerchantDto.name]!);
  schemas[WebhookPatch.name] = patchSchema(schemas[WebhookDto.name]!);
  closeObjects(schemas);
  return document;
}

/** What the document says of the whole API. */
function frame() {
  return new DocumentBuilder()
    .setTitle('Tollgate Rules API')
    .setDescription(
      'Merchants and the rules that limit their requests. A change needs If-Match with the ETag that was read. ' +
        'Every error is a problem (RFC 9457) with a code for programs and a type that leads to a page about it. Where fields are wrong, errors names each of them.',
    )
    .setVersion('1')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'A token of an administrator or a machine.' }, TOKEN_SCHEME)
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API key of a merchant.' }, MERCHANT_KEY_SCHEME)
    .build();
}

/** Fields that are not known are refused, and none are sent: the document says so of every object. */
function closeObjects(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  const { type, properties } = schema as { type?: unknown; properties?: unknown };
  if (type === 'object' && typeof properties === 'object') (schema as { additionalProperties?: unknown }).additionalProperties = false;
  for (const below of Object.values(schema)) closeObjects(below);
}
