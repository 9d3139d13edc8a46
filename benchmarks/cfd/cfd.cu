// cfd: the fluxes through the faces of the cells of an unstructured mesh, for the Euler equations of a compressible gas
// in three dimensions (finite volumes, central differences and artificial viscosity).
// Source of the algorithm: Rodinia's CFD solver (Corrigan et al., AIAA 2009-4001), the flux kernel of euler3d.
//
// A cell is a tetrahedron with four faces. Each variable is an array over all cells, in this order: density, momentum
// along x, y and z, energy density.

constexpr float kGamma = 1.4f;
constexpr float kSmoothing = 0.2f;
constexpr int kFaces = 4;
constexpr int kWall = -1;     // marks a face without a neighbour
constexpr int kFarField = -2;

struct Vector {
  float x, y, z;
};

// The variables of a cell, and the quantities that follow from them.
struct State {
  float density;
  Vector momentum;
  float energy;
  Vector velocity;
  float speed;
  float pressure;
  float sound;  // speed of sound
};

__constant__ float far_field[5];

__device__ State derive(float density, float mx, float my, float mz, float energy) {
  State s;
  s.density = density;
  s.momentum = {mx, my, mz};
  s.energy = energy;
  s.velocity = {mx / density, my / density, mz / density};
  const float square = s.velocity.x * s.velocity.x + s.velocity.y * s.velocity.y + s.velocity.z * s.velocity.z;
  s.speed = sqrtf(square);
  s.pressure = (kGamma - 1.0f) * (energy - 0.5f * density * square);
  s.sound = sqrtf(kGamma * s.pressure / density);
  return s;
}

__device__ State load(const float* variables, int cell, int cells) {
  return derive(variables[cell], variables[cell + cells], variables[cell + 2 * cells],
                variables[cell + 3 * cells], variables[cell + 4 * cells]);
}

struct Flux {
  float density;
  Vector momentum;
  float energy;
};

// Adds half of the flux of state s through a face with this normal.
__device__ void carry(Flux& flux, const State& s, const Vector& normal) {
  const float through = 0.5f * (normal.x * s.velocity.x + normal.y * s.velocity.y + normal.z * s.velocity.z);
  const float half_pressure = 0.5f * s.pressure;
  flux.density += through * s.density;
  flux.momentum.x += through * s.momentum.x + normal.x * half_pressure;
  flux.momentum.y += through * s.momentum.y + normal.y * half_pressure;
  flux.momentum.z += through * s.momentum.z + normal.z * half_pressure;
  flux.energy += through * (s.energy + s.pressure);
}

// The flux of each cell. `neighbours` has one array per face, `normals` one array per face and axis. Normals point
// outwards, and their length is the area of the face.
extern "C" __global__ void cfd_flux(int cells, const int* neighbours, const float* normals, const float* variables,
                                    float* fluxes) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= cells) return;
  const State here = load(variables, cell, cells);
  Flux flux = {0.0f, {0.0f, 0.0f, 0.0f}, 0.0f};
#pragma unroll
  for (int face = 0; face < kFaces; ++face) {
    const int other = neighbours[face * cells + cell];
    const Vector normal = {normals[(3 * face) * cells + cell], normals[(3 * face + 1) * cells + cell],
                           normals[(3 * face + 2) * cells + cell]};
    if (other >= 0) {
      const State there = load(variables, other, cells);
      const float area = sqrtf(normal.x * normal.x + normal.y * normal.y + normal.z * normal.z);
      const float viscosity =
          0.5f * kSmoothing * area * (here.speed + there.speed + here.sound + there.sound);
      flux.density += viscosity * (here.density - there.density);
      flux.momentum.x += viscosity * (here.momentum.x - there.momentum.x);
      flux.momentum.y += viscosity * (here.momentum.y - there.momentum.y);
      flux.momentum.z += viscosity * (here.momentum.z - there.momentum.z);
      flux.energy += viscosity * (here.energy - there.energy);
      carry(flux, here, normal);
      carry(flux, there, normal);
    } else if (other == kWall) {
      flux.momentum.x += normal.x * here.pressure;
      flux.momentum.y += normal.y * here.pressure;
      flux.momentum.z += normal.z * here.pressure;
    } else if (other == kFarField) {
      carry(flux, here, normal);
      carry(flux, derive(far_field[0], far_field[1], far_field[2], far_field[3], far_field[4]), normal);
    }
  }
  fluxes[cell] = flux.density;
  fluxes[cell + cells] = flux.momentum.x;
  fluxes[cell + 2 * cells] = flux.momentum.y;
  fluxes[cell + 3 * cells] = flux.momentum.z;
  fluxes[cell + 4 * cells] = flux.energy;
}
