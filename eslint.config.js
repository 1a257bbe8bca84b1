import tseslint from 'typescript-eslint';

/** What a reviewer should not have to look for; formatting is no part of it. */
const everywhere = {
  eqeqeq: 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  'no-debugger': 'error',
  'no-duplicate-imports': ['error', { includeExports: false }],
  'no-fallthrough': 'error',
  'no-unreachable': 'error',
  'no-self-compare': 'error',
  'no-template-curly-in-string': 'error',
  'no-unmodified-loop-condition': 'error',
  'no-constant-condition': ['error', { checkLoops: false }],
  'no-irregular-whitespace': 'error',
  'max-depth': ['error', 4],
  'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
  '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
};

/** Rules of the recommended set that say nothing useful here. */
const notOurs = {
  // It asks for the type of what a query returns as a type argument instead of an assertion: the same claim in another place.
  '@typescript-eslint/no-unnecessary-type-assertion': 'off',
  // An async function that awaits nothing turns what it throws into a rejection, which is what an interface of promises asks for.
  '@typescript-eslint/require-await': 'off',
};

/** What tests look at is what a server has answered: a field that is not there fails the test, whatever its type says. */
const notInTests = Object.fromEntries(
  ['argument', 'assignment', 'call', 'member-access', 'return'].map((use) => [`@typescript-eslint/no-unsafe-${use}`, 'off']),
);

export default tseslint.config(
  // The examples of clients import what generators make; a test checks their types with it.
  { ignores: ['dist/', 'node_modules/', '.tollgate/', 'coverage/', 'examples/clients/', '**/*.cjs'] },
  { files: ['**/*.{js,mjs,ts}'], extends: [tseslint.configs.base], rules: everywhere },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      ...everywhere,
      // A promise that nobody waits for is a failure that nobody sees.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false, attributes: false, properties: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // One style of imports: a line of types alone is `import type`, a type among values is marked on its own.
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      ...notOurs,
    },
  },
  {
    files: ['apps/*/src/**/*.ts', 'libs/*/src/**/*.ts', 'scripts/**/*.mjs'],
    ignores: ['**/*.spec.ts'],
    rules: {
      'max-lines-per-function': ['error', { max: 50, skipBlankLines: true, skipComments: true }],
    },
  },
  // Apps and libraries log; only commands and tests print.
  { files: ['apps/**/*.ts', 'libs/**/*.ts'], ignores: ['**/*.spec.ts', 'apps/*/src/main.ts'], rules: { 'no-console': 'error' } },
  { files: ['**/*.spec.ts', 'test/**/*.ts', 'libs/*/testing/**/*.ts'], rules: notInTests },
  // A table of cases is as long as it is; a focused test would silence all others.
  {
    files: ['**/*.spec.ts'],
    rules: {
      'max-lines': ['error', { max: 600, skipBlankLines: true, skipComments: true }],
      'no-restricted-properties': ['error', ...['it', 'test', 'describe'].map((object) => ({ object, property: 'only' }))],
    },
  },
);
