import { type DynamicModule, Global, Module } from '@nestjs/common';

/** What exists before Nest does (connections, clock, secrets), offered to every module under the injection tokens of `tokens.ts`. */
@Global()
@Module({})
export class InfrastructureModule {
  static over(values: readonly (readonly [token: symbol, value: unknown])[]): DynamicModule {
    return {
      module: InfrastructureModule,
      providers: values.map(([provide, useValue]) => ({ provide, useValue })),
      exports: values.map(([token]) => token),
    };
  }
}
