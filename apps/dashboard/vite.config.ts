import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The API serves `dist`; in development `vite` serves the page and passes requests on to an API of your choice. */
export default defineConfig({
  plugins: [react()],
  build: { outDir: 'dist', sourcemap: false, target: 'es2022' },
  server: { proxy: { '/v1': process.env['COXSWAIN_SERVER'] ?? 'http://127.0.0.1:8080' } },
});
