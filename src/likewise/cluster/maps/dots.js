// Draws dots pixel by pixel: without a graphics card, copying an image for each dot would be slow.

export class DotImage {
  constructor() {
    this.image = null;
    this.pixels = null;
  }

  // An empty image of this size, for dots of one colour.
  clear(width, height, paper) {
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(Math.max(1, width), Math.max(1, height));
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.image.data.set([...inkOf(paper), 255]);
    this.pixels.fill(this.pixels[0]);
  }

  // Draw a dot at a pixel; the part outside the image is clipped.
  stamp({ half, side, cover }, x, y, [red, green, blue], strength) {
    const { width, height, data: bytes } = this.image;
    const first = Math.max(0, half - x);
    const last = Math.min(side, width - x + half);
    for (let down = Math.max(0, half - y); down < Math.min(side, height - y + half); down++) {
      let at = 4 * ((y - half + down) * width + x - half + first);
      for (let across = first; across < last; across++, at += 4) {
        const part = cover[down * side + across] * strength;
        if (part === 0) continue;
        bytes[at] += (red - bytes[at]) * part;
        bytes[at + 1] += (green - bytes[at + 1]) * part;
        bytes[at + 2] += (blue - bytes[at + 2]) * part;
      }
    }
  }
}

// The red, green and blue components of #rrggbb.
export function inkOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// The fraction of each pixel in a square that a dot covers, 0 to 1.
export function dotMask(radius) {
  const half = Math.ceil(radius);
  const side = 2 * half + 1;
  const cover = new Float32Array(side * side);
  for (let i = 0; i < cover.length; i++) {
    const distance = Math.hypot((i % side) - half, Math.floor(i / side) - half);
    cover[i] = Math.max(0, Math.min(1, radius + 0.5 - distance));
  }
  return { half, side, cover };
}
