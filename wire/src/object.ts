import * as v from 'valibot'

/** valibot takes an array for an object of optional keys; on our wire an array is no more an object than `null` is. */
function notArray<S extends v.GenericSchema>(schema: S): S {
  const run: S['~run'] = (dataset, config) =>
    schema['~run'](Array.isArray(dataset.value) ? { value: null } : dataset, config)
  return Object.defineProperties({} as S, {
    ...Object.getOwnPropertyDescriptors(schema),
    '~run': { value: run, enumerable: true },
  })
}

/** An object of a request: unknown keys are refused (decision 1.2). */
export const strictObject = <const E extends v.ObjectEntries>(entries: E) => notArray(v.strictObject(entries))

/** An object whose unknown keys are dropped. */
export const looseObject = <const E extends v.ObjectEntries>(entries: E) => notArray(v.object(entries))

/** An object of any keys. */
export const anyObject = notArray(v.record(v.string(), v.unknown()))
