/** The arrows of the house: apps -> { rules-db, rule-sync, limiter-redis, platform } -> limiter -> nothing; simulation -> limiter. Types count too. */

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
      name: 'apps-stand-alone',
      comment: 'Apps never import apps: what two of them need belongs into a library.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
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
      from: { path: '^(apps|libs|migrations)/', pathNot: ['\\.spec\\.ts$', '^libs/limiter/testing/'] },
      to: { path: '(^libs/limiter/testing/|\\.spec\\.ts$)' },
    },
    ...ADAPTERS.map((name) => ({
      name: `${name}-knows-no-other-adapter`,
      comment: 'Adapters meet in the apps, not in each other.',
      severity: 'error',
      from: { path: `^libs/${name}/` },
      to: { path: `^libs/(${ADAPTERS.filter((other) => other !== name).join('|')})/` },
    })),
    {
      name: 'platform-knows-no-limiter',
      comment: 'Configuration, logs and health are the same whatever an app is about.',
      severity: 'error',
      from: { path: '^libs/platform/' },
      to: { path: '^libs/limiter/' },
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
      from: { path: '^(apps|libs|migrations)/', pathNot: '^libs/simulation/' },
      to: { path: '^libs/simulation/' },
    },
    {
      name: 'rules-api-knows-no-redis',
      comment: 'Only the preloader and the gateway know both the rules in PostgreSQL and the buckets in Redis.',
      severity: 'error',
      from: { path: '^apps/', pathNot: '^apps/(preloader|gateway)/' },
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
