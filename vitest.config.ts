import { defineConfig } from 'vitest/config'

const shared = { testTimeout: 30_000, hookTimeout: 240_000 } as const

/**
 * `unit` needs nothing; `system` runs against a real PostgreSQL and a real control plane; `e2e` against `make up`;
 * `kind` and then `kind-after` against what scripts/e2e-kind.ts has installed.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { ...shared, name: 'unit', include: ['*/src/**/*.test.ts', 'scripts/**/*.test.ts'] } },
      {
        test: {
          ...shared,
          name: 'system',
          include: ['*/test/**/*.test.ts'],
          exclude: ['e2e/**'],
          globalSetup: ['dev/src/testing/global-setup.ts'],
          maxWorkers: 2,
        },
      },
      {
        test: {
          ...shared,
          name: 'e2e',
          include: ['e2e/src/**/*.e2e.ts'],
          exclude: ['e2e/src/kind/**'],
          maxWorkers: 2,
          testTimeout: 180_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'kind',
          include: ['e2e/src/onboard.e2e.ts', 'e2e/src/kind/*.e2e.ts'],
          fileParallelism: false,
          testTimeout: 480_000,
        },
      },
      {
        test: { ...shared, name: 'kind-after', include: ['e2e/src/kind/*.after.ts'], testTimeout: 300_000 },
      },
    ],
  },
})
