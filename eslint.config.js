import tseslint from 'typescript-eslint';

/** What a reviewer should not have to look for; formatting is no part of it. */
const everywhere = {
  eqeqeq: 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  'no-debugger': 'error',
  'no-fallthrough': 'error',
  'no-unreachable': 'error',
  'no-self-compare': 'error',
  'no-template-curly-in-string': 'error',
  'no-unmodified-loop-condition': 'error',
  'no-constant-condition': ['error', { checkLoops: false }],
  'no-irregular-whitespace': 'error',
  'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
  '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
};

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.tollgate/', 'coverage/', '**/*.cjs'] },
  { files: ['**/*.{js,mjs,ts}'], extends: [tseslint.configs.base], rules: everywhere },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommended],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      ...everywhere,
      // A promise that nobody waits for is a failure that nobody sees.
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false, attributes: false, properties: false } }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  // Apps and libraries log; only commands and tests print.
  { files: ['apps/**/*.ts', 'libs/**/*.ts'], ignores: ['**/*.spec.ts', 'apps/*/src/main.ts'], rules: { 'no-console': 'error' } },
  // A table of cases is as long as it is; a focused test would silence all others.
  {
    files: ['**/*.spec.ts'],
    rules: {
      'max-lines': ['error', { max: 600, skipBlankLines: true, skipComments: true }],
      'no-restricted-properties': ['error', ...['it', 'test', 'describe'].map((object) => ({ object, property: 'only' }))],
    },
  },
);
