/**
 * The arrows of the house: apps -> enforcement -> { limiter-redis, rules-db } -> limiter -> nothing; rule-sync and platform beside them;
 * simulation -> limiter. Imports of types count too.
 */

const ADAPTERS = ['rules-db', 'rule-sync', 'limiter-redis', 'platform'];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'everything-resolves',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-cycles',
      comment: 'Two files that need each other, be it for a type, are one file, or hide a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'apps-stand-alone',
      comment: 'Apps never import apps: what two of them need belongs into a library.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'only-the-command-line-knows-scripts',
      comment: 'What runs in production does not depend on what starts it.',
      severity: 'error',
      from: { path: '^apps/', pathNot: '^apps/cli/' },
      to: { path: '^scripts/' },
    },
    {
      name: 'libraries-know-no-app',
      severity: 'error',
      from: { path: '^(libs|migrations)/' },
      to: { path: '^(apps|scripts|test|bench)/' },
    },
    {
      name: 'limiter-knows-nobody',
      comment:
        'The heart is free of frameworks, Redis, HTTP and a clock of its own: no other library, nothing of Node, and no package but the stand-in for Temporal, which is part of the language.',
      severity: 'error',
      from: { path: '^libs/limiter/src/', pathNot: '\\.spec\\.ts$' },
      to: { pathNot: ['^libs/limiter/src/', 'node_modules/temporal-polyfill/'] },
    },
    {
      name: 'testing-stays-out-of-the-product',
      severity: 'error',
      from: { path: '^(apps|libs|migrations)/', pathNot: ['\\.spec\\.ts$', '^libs/[^/]+/testing/'] },
      to: { path: '(^libs/[^/]+/testing/|\\.spec\\.ts$)' },
    },
    ...ADAPTERS.map((name) => ({
      name: `${name}-knows-no-other-adapter`,
      comment: 'Adapters meet in the apps, not in each other.',
      severity: 'error',
      from: { path: `^libs/${name}/` },
      to: { path: `^libs/(${ADAPTERS.filter((other) => other !== name).join('|')})/` },
    })),
    {
      name: 'adapters-know-no-enforcement',
      severity: 'error',
      from: { path: `^libs/(${ADAPTERS.join('|')})/` },
      to: { path: '^libs/enforcement/' },
    },
    {
      name: 'enforcement-knows-stores-only',
      comment: 'It serves a gateway, an API and a library alike: nothing of HTTP, of Nest, or of how an app is configured.',
      severity: 'error',
      from: { path: '^libs/enforcement/' },
      to: {
        path: [
          '^libs/(edge|node-middleware|platform|rule-sync|simulation)/',
          '^migrations/',
          'node_modules/(@nestjs|fastify|undici)/',
          '^(node:)?https?$',
        ],
      },
    },
    {
      name: 'rules-db-behind-the-rule-source',
      comment: 'Everything else asks the port: rules may come from somewhere else.',
      severity: 'error',
      from: { path: '^libs/enforcement/', pathNot: '^libs/enforcement/src/postgres-rules\\.ts$' },
      to: { path: '^libs/rules-db/' },
    },
    {
      name: 'doors-go-through-enforcement',
      severity: 'error',
      from: { path: '^(apps/(gateway|decision-api)|libs/(edge|node-middleware))/' },
      to: { path: ['^libs/(limiter-redis|rules-db|rule-sync)/', 'node_modules/(ioredis|pg|typeorm)/'] },
    },
    {
      name: 'platform-knows-no-limiter',
      comment: 'Configuration, logs and health are the same whatever an app is about.',
      severity: 'error',
      from: { path: '^libs/platform/' },
      to: { path: '^libs/limiter/' },
    },
    {
      name: 'waiting-knows-nobody',
      comment: 'Every library may need a deadline: so it is below all of them.',
      severity: 'error',
      from: { path: '^libs/waiting/' },
      to: { path: ['^libs/(?!waiting/)', '^migrations/', 'node_modules/(?!fast-check/)'] },
    },
    {
      name: 'metrics-know-no-library',
      comment: 'Every library may count: so it is below all of them.',
      severity: 'error',
      from: { path: '^libs/metrics/' },
      to: { path: ['^libs/(?!metrics/)', '^migrations/'] },
    },
    {
      name: 'jwt-knows-no-library',
      comment: 'Whether a token is good is the same for administrators and for merchants: what it says is for the apps.',
      severity: 'error',
      from: { path: '^libs/jwt/' },
      to: { path: ['^libs/(?!jwt/)', '^migrations/'] },
    },
    {
      name: 'envoy-knows-no-library',
      comment: 'How a descriptor is read is the same for who answers calls and for who writes rules: so it is below both.',
      severity: 'error',
      from: { path: '^libs/envoy/' },
      to: { path: ['^libs/(?!envoy/)', '^migrations/'] },
    },
    {
      name: 'nobody-needs-the-middleware',
      comment: 'It is a door, as the gateway is one: other services stand on it, and nothing of ours.',
      severity: 'error',
      from: { path: '^(apps|libs|migrations)/', pathNot: '^libs/node-middleware/' },
      to: { path: '^libs/node-middleware/' },
    },
    {
      name: 'only-the-nest-part-of-the-middleware-knows-nest',
      comment: 'A service of Express or Fastify need not have Nest. Types of Fastify are no import when it runs.',
      severity: 'error',
      from: { path: '^libs/node-middleware/src/', pathNot: '^libs/node-middleware/src/nest/' },
      to: { path: ['^libs/node-middleware/src/nest/', 'node_modules/@nestjs/'] },
    },
    {
      name: 'addresses-know-no-library',
      comment: 'What an address means is the same for everybody: so it is below all of them.',
      severity: 'error',
      from: { path: '^libs/addresses/' },
      to: { path: ['^libs/(?!addresses/)', '^migrations/'] },
    },
    {
      name: 'simulation-knows-only-the-limiter',
      comment: 'It replays the algorithms as they are, in virtual time: no store, no database, no configuration.',
      severity: 'error',
      from: { path: '^libs/simulation/' },
      to: { path: '^(libs/(?!(limiter|simulation)/)|migrations/)' },
    },
    {
      name: 'nobody-needs-the-simulation',
      comment: 'It is a tool of developers: what runs in production must not depend on it, nor on its packages.',
      severity: 'error',
      from: { path: '^(apps|libs|migrations)/', pathNot: '^(libs/simulation|apps/cli)/' },
      to: { path: '^libs/simulation/' },
    },
    {
      name: 'rules-api-knows-no-redis',
      comment:
        'Only the preloader knows both the rules in PostgreSQL and the buckets in Redis; the gateway has an enforcer, which does, and the command line asks the queue. The Rules API asks Redis only about live buckets.',
      severity: 'error',
      from: { path: '^apps/', pathNot: '^apps/(preloader|cli|rules-api/src/buckets)/' },
      to: { path: '^libs/limiter-redis/' },
    },
    {
      name: 'migrations-belong-to-rules-db',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '^libs/rules-db/' },
      to: { path: '^migrations/' },
    },
    {
      name: 'only-declared-packages',
      severity: 'error',
      from: { path: '^(apps|libs|migrations)/', pathNot: ['\\.spec\\.ts$', '^libs/limiter/testing/', '^libs/simulation/'] },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'] },
    },
    {
      name: 'only-declared-packages-in-the-simulation',
      comment: 'A tool of developers may use what only developers install.',
      severity: 'error',
      from: { path: '^libs/simulation/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.json'],
    },
  },
};
