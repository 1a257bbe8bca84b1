import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Server } from 'node:http';
import { ApproveDto, RejectDto } from '../approvals/approval.dto.js';
import { AdjustBucketDto, BlockBucketDto, ResetBucketsDto, UnblockBucketDto } from '../buckets/bucket.dto.js';
import { CreateApiKeyDto, RotateApiKeyDto } from '../api-keys/api-key.dto.js';
import { ExplainDto } from '../explain/explain.dto.js';
import { PreviewDto } from '../preview/preview.dto.js';
import { ConfigurationDto } from '../configuration/configuration.dto.js';
import { RevertDto } from '../history/history.dto.js';
import { CreateMerchantDto, MerchantPatch, UpdateMerchantDto } from '../merchants/merchant.dto.js';
import { PlanDto, PlanPatch } from '../plans/plan.dto.js';
import { ReplaceRuleDto, RuleDto, RulePatch, RuleView, WrittenRule } from '../rules/rule.dto.js';
import { CreateOverrideDto } from '../overrides/override.dto.js';
import { SwitchDto } from '../switches/switch.dto.js';
import { CreateTokenDto, RotateTokenDto } from '../tokens/token.dto.js';
import { MERCHANT_KEY_SCHEME, TOKEN_SCHEME } from './operations.js';
import type { TableDto } from '../http/table-dto.js';
import { RotateSecretDto, SendDto, WebhookDto, WebhookPatch } from '../webhooks/webhook.dto.js';
import { RESOURCES } from '../resources.js';
import { operationId } from './operation-ids.js';
import { ruleExamples } from './rule-examples.js';
import { listeningUrl } from './listening-url.js';
import { addTableSchemas, patchSchema } from './table-schemas.js';

/**
 * Serves the OpenAPI document at /openapi.json and readable at /docs, without a token. It is made when it is first asked for: that is a tenth of a start.
 * @param publicUrl where clients reach this API; undefined: where it listens
 */
export function serveOpenApi(app: INestApplication, publicUrl: string | undefined): void {
  const document = () => openApiDocument(app, publicUrl ?? listeningUrl(app.getHttpServer() as Server));
  SwaggerModule.setup('docs', app, document, { jsonDocumentUrl: 'openapi.json', raw: ['json'] });
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

/** The bodies that are rules. */
const RULE_BODIES = new Set([RuleDto, ReplaceRuleDto].map(({ name }) => `#/components/schemas/${name}`));

/** The document of an app that is complete but for its start. @param url where clients reach it */
export function openApiDocument(app: INestApplication, url: string): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, frame(url), { include: RESOURCES, operationIdFactory: operationId });
  const schemas = ((document.components ??= {}).schemas ??= {}) as unknown as Parameters<typeof addTableSchemas>[0];
  addTableSchemas(schemas, TABLE_DTOS);
  schemas[RulePatch.name] = patchSchema(schemas[ReplaceRuleDto.name]!);
  schemas[MerchantPatch.name] = patchSchema(schemas[UpdateMerchantDto.name]!);
  schemas[PlanPatch.name] = patchSchema(schemas[PlanDto.name]!);
  schemas[WebhookPatch.name] = patchSchema(schemas[WebhookDto.name]!);
  closeObjects(schemas);
  addRuleExamples(document);
  markOptionalBodies(document);
  return document;
}

/** Every operation that takes a rule as its body shows the same examples. */
function addRuleExamples({ components = {}, paths }: OpenAPIObject): void {
  const examples = ruleExamples();
  components.examples = examples;
  const references = Object.fromEntries(Object.keys(examples).map((name) => [name, { $ref: `#/components/examples/${name}` }]));
  for (const { post, put } of Object.values(paths)) {
    for (const operation of [post, put]) {
      const content =
        operation?.requestBody && 'content' in operation.requestBody ? operation.requestBody.content['application/json'] : undefined;
      const schema = content?.schema;
      if (content && schema && '$ref' in schema && RULE_BODIES.has(schema.$ref)) content.examples = references;
    }
  }
}

/** Bodies that are only for those who want to say more. */
function markOptionalBodies({ paths }: OpenAPIObject): void {
  const optional = new Set(TABLE_DTOS.filter(({ mayBeAbsent }: TableDto) => mayBeAbsent).map(({ name }) => `#/components/schemas/${name}`));
  for (const { post } of Object.values(paths)) {
    const body = post?.requestBody;
    const schema = body && 'content' in body ? body.content['application/json']?.schema : undefined;
    if (body && 'content' in body && schema && '$ref' in schema && optional.has(schema.$ref)) body.required = false;
  }
}

/** What the document says of the whole API. */
function frame(url: string) {
  return (
    new DocumentBuilder()
      .setTitle('Tollgate Rules API')
      .setDescription(
        'Merchants and the rules that limit their requests. A change needs If-Match with the ETag that was read. ' +
          'Every error is a problem (RFC 9457) with a code for programs and a type that leads to a page about it. Where fields are wrong, errors names each of them.',
      )
      .setVersion('1')
      .addServer(url, 'The Rules API that this document comes from.')
      // addBearerAuth would call them JWTs. An access token of an issuer is one, and the tokens of this API are not.
      .addSecurity(TOKEN_SCHEME, {
        type: 'http',
        scheme: 'bearer',
        description:
          'A token of an administrator or a machine, made by createToken, or an access token of the OIDC issuer that is configured.',
      })
      .addSecurity(MERCHANT_KEY_SCHEME, { type: 'http', scheme: 'bearer', description: 'An API key of a merchant, made by createApiKey.' })
      .build()
  );
}

/** Fields that are not known are refused, and none are sent: the document says so of every object. */
function closeObjects(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  const { type, properties } = schema as { type?: unknown; properties?: unknown };
  if (type === 'object' && typeof properties === 'object') (schema as { additionalProperties?: unknown }).additionalProperties = false;
  for (const below of Object.values(schema)) closeObjects(below);
}
