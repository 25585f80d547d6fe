import tseslint from "typescript-eslint";
import { UNFINISHED } from "./scripts/unfinished.mjs";

/** What the style guide asks for and a linter can see; CONTRIBUTING.md names the rest. */
export default tseslint.config(
  {
    ignores: [
      "**/node_modules/**",
      "**/dist/**",
      "**/*.mjs",
      "**/*.cjs",
      "**/*.js",
      ".tools/**",
      "**/.examples/**",
      ".packs/**",
      ".readme-*/**",
      "**/testdata/**",
      ...UNFINISHED.map((name) => `packages/${name}/**`),
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "max-lines": ["error", { max: 400 }],
      "max-lines-per-function": ["error", { max: 60 }],
      "max-depth": ["error", 3],
      "no-restricted-syntax": [
        "error",
        { selector: "TSEnumDeclaration", message: "Use a const object" },
        { selector: "ExportAllDeclaration", message: "Name what is exported" },
        { selector: "ExportDefaultDeclaration", message: "Export by name" },
        {
          selector:
            "PropertyDefinition[accessibility='private'], MethodDefinition[kind!='constructor'][accessibility='private']",
          message: "Use #private",
        },
      ],
      "no-restricted-globals": ["error", "AsyncDisposableStack", "DisposableStack", "WebSocket"],
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-empty-function": "off",
      "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: true }],
      "@typescript-eslint/only-throw-error": ["error", { allowThrowingUnknown: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: false }],
      "@typescript-eslint/no-invalid-void-type": ["error", { allowAsThisParameter: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      "@typescript-eslint/no-dynamic-delete": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/return-await": ["error", "error-handling-correctness-only"],
      "@typescript-eslint/prefer-promise-reject-errors": ["error", { allowThrowingUnknown: true }],
    },
  },
  {
    files: ["**/*_test.ts", "**/_testing*.ts", "**/bench/**", "interop/**"],
    rules: {
      "max-lines": ["error", { max: 600 }],
      "max-lines-per-function": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/restrict-template-expressions": "off",
      "@typescript-eslint/require-await": "off",
      "@typescript-eslint/no-unnecessary-condition": "off",
      "@typescript-eslint/no-confusing-void-expression": "off",
      "@typescript-eslint/unbound-method": "off",
      "require-yield": "off",
    },
  },
);
