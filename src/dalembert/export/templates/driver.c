/* @@NAME@@, translated by dalembert.

     E(z,t) w = k(z,t)    differential equations: w are the derivatives of the unknowns with the numbers MOVING
     0 = h(z,t)           constraints of all levels, also those which the equations hide

@@COMMENTS@@

     cc -O2 THIS_FILE.c -lm -o model
     ./model [stop time [tolerance [number of intervals]]] > results.csv

   writes all variables at every step, or at equidistant times if a number of intervals is given. */

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef I

static const double START_TIME = @@T0@@;
static const double STOP_TIME = @@T1@@;
static const double RTOL = @@RTOL@@;
static const double ATOL = @@ATOL@@;
static const int INTERVALS = 0; /* 0: results at every step */

/* -- parameters: they may be changed here ----------------------------------------------------------------------- */

@@PARAMETERS@@

/* -- the model -------------------------------------------------------------------------------------------------- */

/* unknowns, differential equations, constraints, conditions at the start, results; arrays have an entry at least */
enum { NZ = @@N@@, NM = @@M@@, NQ = @@Q@@, NC = @@NC@@, NR = @@NR@@ };
enum { NM1 = NM > 0 ? NM : 1, NQ1 = NQ > 0 ? NQ : 1, NC1 = NC > 0 ? NC : 1, NA1 = NQ + NC + 1 };
static const int MOVING[] = {@@MOVING@@};
/* errors of these unknowns count by the step size, as they follow from derivatives of equations */
static const int ROUGH[] = {@@ROUGH@@};
static const char *const RESULTS[] = {
@@RESULT_NAMES@@
};

/* @@if events */
/* discrete variables, their places, and what is known of relations (BITS: by value, TIMED_BITS: by time) */
enum { ND = @@ND@@, NX = @@NX@@, NT = @@NT@@, NK = @@NK@@, NI = @@NI@@, NP = @@NP@@, NCL = @@NCL@@ };
enum { NX1 = NX > 0 ? NX : 1, NT1 = NT > 0 ? NT : 1, NK1 = NK > 0 ? 2 * NK : 1, NI1 = NI > 0 ? NI : 1 };
enum { NCL1 = NCL > 0 ? NCL : 1, INITIAL = @@INITIAL@@, TERMINAL = @@TERMINAL@@ };
static double d[ND] = {@@DISCRETE@@};
static const int BITS[] = {@@BITS@@}, TIMED_BITS[] = {@@TIMED_BITS@@}, CLOCKS[] = {@@CLOCKS@@};
static const int CLOSED[] = {@@CLOSED@@}, TIMED_CLOSED[] = {@@TIMED_CLOSED@@}, RISING[] = {@@RISING@@};
static const int RESTARTED[] = {@@RESTARTED@@};
static const int NOW[] = {@@NOW@@}, BEFORE[] = {@@BEFORE@@}; /* values, and those before an event */
static const int CLAIM_KINDS[] = {@@CLAIM_KINDS@@}; /* 0 has to hold, 1 warns if it does not, 2 ends the run */
static const char *const MESSAGES[] = {
@@MESSAGES@@
};
static const char *const RELATIONS[] = {
@@RELATION_NAMES@@
};

/* @@end */
static double sign_of(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }

@@FUNCTIONS@@

/* -- linear algebra --------------------------------------------------------------------------------------------- */

/* Factors of a matrix, row by row, by elimination with row exchanges; 0 if it is singular. */
static int decompose(int n, double *a, int *pivot)
{
    for (int j = 0; j < n; j++) {
        int p = j;
        for (int i = j + 1; i < n; i++)
            if (fabs(a[i * n + j]) > fabs(a[p * n + j])) p = i;
        pivot[j] = p;
        if (!(fabs(a[p * n + j]) > 0.0) || !isfinite(a[p * n + j])) return 0;
        if (p != j)
            for (int l = 0; l < n; l++) {
                const double other = a[j * n + l];
                a[j * n + l] = a[p * n + l];
                a[p * n + l] = other;
            }
        for (int i = j + 1; i < n; i++) {
            const double factor = a[i * n + j] /= a[j * n + j];
            if (factor != 0.0)
                for (int l = j + 1; l < n; l++) a[i * n + l] -= factor * a[j * n + l];
        }
    }
    return 1;
}

static void solve(int n, const double *a, const int *pivot, double *b)
{
    for (int j = 0; j < n; j++) {
        const double other = b[pivot[j]];
        b[pivot[j]] = b[j];
        b[j] = other;
    }
    for (int i = 1; i < n; i++)
        for (int l = 0; l < i; l++) b[i] -= a[i * n + l] * b[l];
    for (int i = n - 1; i >= 0; i--) {
        for (int l = i + 1; l < n; l++) b[i] -= a[i * n + l] * b[l];
        b[i] /= a[i * n + i];
    }
}

/* The same for complex numbers. */
static int decompose_complex(int n, double complex *a, int *pivot)
{
    for (int j = 0; j < n; j++) {
        int p = j;
        for (int i = j + 1; i < n; i++)
            if (cabs(a[i * n + j]) > cabs(a[p * n + j])) p = i;
        pivot[j] = p;
        if (!(cabs(a[p * n + j]) > 0.0) || !isfinite(cabs(a[p * n + j]))) return 0;
        if (p != j)
            for (int l = 0; l < n; l++) {
                const double complex other = a[j * n + l];
                a[j * n + l] = a[p * n + l];
                a[p * n + l] = other;
            }
        for (int i = j + 1; i < n; i++) {
            const double complex factor = a[i * n + j] /= a[j * n + j];
            if (factor != 0.0)
                for (int l = j + 1; l < n; l++) a[i * n + l] -= factor * a[j * n + l];
        }
    }
    return 1;
}

static void solve_complex(int n, const double complex *a, const int *pivot, double complex *b)
{
    for (int j = 0; j < n; j++) {
        const double complex other = b[pivot[j]];
        b[pivot[j]] = b[j];
        b[j] = other;
    }
    for (int i = 1; i < n; i++)
        for (int l = 0; l < i; l++) b[i] -= a[i * n + l] * b[l];
    for (int i = n - 1; i >= 0; i--) {
        for (int l = i + 1; l < n; l++) b[i] -= a[i * n + l] * b[l];
        b[i] /= a[i * n + i];
    }
}

/* Rows of a (q x n) in another order are a triangle times basis^T, by reflections: the row that is farthest from the
   others comes first. The triangle takes the place of a; the columns of basis are orthonormal. Returns the rank. */
static int factored(int q, int n, double *a, double *basis, int *order)
{
    double first = 0.0, *v = malloc(sizeof(double) * (n > 0 ? n : 1));
    int rank = 0;
    if (v == NULL) exit(2);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) basis[i * n + j] = i == j;
    for (int i = 0; i < q; i++) order[i] = i;
    for (int j = 0; j < q && j < n; j++) {
        double longest = -1.0;
        int farthest = j;
        for (int i = j; i < q; i++) {
            double length = 0.0;
            for (int l = j; l < n; l++) length += a[i * n + l] * a[i * n + l];
            if (length > longest) longest = length, farthest = i;
        }
        longest = sqrt(longest);
        if (j == 0) first = longest;
        if (!(longest > 1e-10 * first)) break;
        const int number = order[j];
        order[j] = order[farthest];
        order[farthest] = number;
        for (int l = 0; l < n; l++) {
            const double other = a[j * n + l];
            a[j * n + l] = a[farthest * n + l];
            a[farthest * n + l] = other;
        }
        double length = 0.0;
        for (int l = j; l < n; l++) v[l] = a[j * n + l];
        v[j] += copysign(longest, v[j]);
        for (int l = j; l < n; l++) length += v[l] * v[l];
        for (int i = j; i < q; i++) {
            double product = 0.0;
            for (int l = j; l < n; l++) product += a[i * n + l] * v[l];
            for (int l = j; l < n; l++) a[i * n + l] -= 2.0 * product / length * v[l];
        }
        for (int i = 0; i < n; i++) {
            double product = 0.0;
            for (int l = j; l < n; l++) product += basis[i * n + l] * v[l];
            for (int l = j; l < n; l++) basis[i * n + l] -= 2.0 * product / length * v[l];
        }
        rank++;
    }
    free(v);
    return rank;
}

/* -- the method: Radau IIA of order 5 -----------------------------------------------------------------------------

   Constraints restrict the unknowns to a manifold. Of the differential equations as many are needed as it has
   dimensions: those combinations S which belong to its tangent space. Together they are
       S w(z,t) = S z',   0 = h(z,t),
   as many equations as unknowns, and all constraints hold at every step. */

static const double NODE[3] = {@@C@@};
static const double TO_STAGES[3][3] = {
@@T@@
};
static const double FROM_STAGES[3][3] = {
@@TI@@
};
static const double GAMMA = @@GAMMA@@, ALPHA = @@ALPHA@@, BETA = @@BETA@@;
static const double ERROR[3] = {@@ERROR@@};
enum { ITERATIONS = 8 };

static const char *reason = "";

static int failed(const char *why)
{
    reason = why;
    return 0;
}

static int finite_all(int n, const double *values)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(values[i])) return failed("a function is not finite");
    return 1;
}

/* E, decomposed, and the derivatives w. */
static int rates(double t, const double *z, double E[NM1][NM1], int *pivot, double *w)
{
    leading_and_rhs(t, z, E, w);
    if (!finite_all(NM, w)) return 0;
    if (!decompose(NM, &E[0][0], pivot)) return failed("the leading matrix is singular");
    solve(NM, &E[0][0], pivot, w);
    return finite_all(NM, w);
}

/* The linearization at a point: derivatives, the constraints' decomposition, and the selected equations. `units` are those
   of the unknowns, `scale` those of the constraints. */
static double units[NZ], tolerance[NZ], scale[NQ1], triangle[NQ1 * NZ], basis[NZ * NZ], selector[NZ][NM1], jacobian[NZ][NZ];
static int order[NQ1], rank;

/* K (NM x NZ) becomes the derivative of w by the unknowns, H that of the constraints. */
static int derivatives(double t, const double *z, double *w, double K[NM1][NZ], double H[NQ1][NZ])
{
    static double E[NM1][NM1], column[NM1];
    static int pivot[NM1];
    if (!rates(t, z, E, pivot, w)) return 0;
    jacobians(t, z, w, K, H);
    for (int j = 0; j < NZ; j++) {
        for (int i = 0; i < NM; i++) column[i] = K[i][j];
        solve(NM, &E[0][0], pivot, column);
        for (int i = 0; i < NM; i++) K[i][j] = column[i];
    }
    return finite_all(NM * NZ, &K[0][0]) && finite_all(NQ * NZ, &H[0][0]);
}

static int linearize(double t, const double *z, const double *unit, int expected)
{
    static double K[NM1][NZ], H[NQ1][NZ], w[NM1], select[NM1 * NM1], tangent[NZ * NM1];
    static int of_tangent[NZ];
    memcpy(tolerance, unit, sizeof tolerance);
    for (int j = 0; j < NZ; j++) units[j] = 1e4 * unit[j]; /* large for those that follow from the others */
    for (int j = 0; j < NM; j++) units[MOVING[j]] = unit[MOVING[j]];
    if (!derivatives(t, z, w, K, H)) return 0;
    for (int i = 0; i < NQ; i++) {
        double length = 0.0;
        for (int j = 0; j < NZ; j++) length += H[i][j] * units[j] * H[i][j] * units[j];
        scale[i] = length > 0.0 ? 1.0 / sqrt(length) : 1.0;
        for (int j = 0; j < NZ; j++) triangle[i * NZ + j] = scale[i] * H[i][j] * units[j];
    }
    rank = factored(NQ, NZ, triangle, basis, order);
    if (expected >= 0 && rank != expected) return failed("constraints depend on each other");
    const int dof = NZ - rank;
    for (int i = 0; i < dof; i++)
        for (int j = 0; j < NM; j++) tangent[i * NM + j] = basis[MOVING[j] * NZ + rank + i];
    if (factored(dof, NM, tangent, select, of_tangent) < dof)
        return failed("unknowns without derivatives are not determined by the constraints");
    for (int i = 0; i < dof; i++) {
        for (int j = 0; j < NM; j++) selector[i][j] = select[j * NM + i] / units[MOVING[j]];
        for (int l = 0; l < NZ; l++) {
            jacobian[i][l] = 0.0;
            for (int j = 0; j < NM; j++) jacobian[i][l] += selector[i][j] * K[j][l];
        }
    }
    for (int i = 0; i < rank; i++)
        for (int l = 0; l < NZ; l++) jacobian[dof + i][l] = scale[order[i]] * H[order[i]][l];
    return 1;
}

/* S w and the constraints. */
static int equations(double t, const double *z, double *f)
{
    static double E[NM1][NM1], w[NM1], h[NQ1];
    static int pivot[NM1];
    const int dof = NZ - rank;
    if (!rates(t, z, E, pivot, w)) return 0;
    for (int i = 0; i < dof; i++) {
        f[i] = 0.0;
        for (int j = 0; j < NM; j++) f[i] += selector[i][j] * w[j];
    }
    constraints(t, z, h);
    for (int i = 0; i < rank; i++) f[dof + i] = scale[order[i]] * h[order[i]];
    return finite_all(NZ, f);
}

/* S z for increments z: what the mass matrix of the selected equations does. */
static void times_mass(const double *z, double *product)
{
    for (int i = 0; i < NZ; i++) product[i] = 0.0;
    for (int i = 0; i < NZ - rank; i++)
        for (int j = 0; j < NM; j++) product[i] += selector[i][j] * z[MOVING[j]];
}

/* The change of least length, measured by units, that makes triangle basis^T change = -r; rows as in `which`. */
static void least_change(int count, const double *l, const double *b, const int *which, const double *r,
                           const double *row_scale, const double *unit, double *change)
{
    static double u[NA1];
    for (int i = 0; i < count; i++) {
        u[i] = row_scale[which[i]] * r[which[i]];
        for (int j = 0; j < i; j++) u[i] -= l[i * NZ + j] * u[j];
        u[i] /= l[i * NZ + i];
    }
    for (int i = 0; i < NZ; i++) {
        double sum = 0.0;
        for (int j = 0; j < count; j++) sum += b[i * NZ + j] * u[j];
        change[i] = -unit[i] * sum;
    }
}

/* Moves z to the point on the constraints that is nearest to it. */
static int correct(double t, double *z, double rtol)
{
    static double h[NQ1], change[NZ];
    double before = INFINITY;
    for (int count = 0; count < 8 && rank > 0; count++) {
        constraints(t, z, h);
        if (!finite_all(NQ, h)) return 0;
        double size = 0.0;
        least_change(rank, triangle, basis, order, h, scale, units, change);
        for (int i = 0; i < NZ; i++) {
            z[i] += change[i];
            size += change[i] / tolerance[i] * (change[i] / tolerance[i]) / NZ;
        }
        size = sqrt(size);
        if (size <= fmax(1e-6, 10.0 * DBL_EPSILON / rtol) || (size < 0.01 && size > 0.5 * before)) return 1;
        if (!isfinite(size) || (count > 2 && size > before)) break;
        before = size;
    }
    if (rank > 0 && before > 0.03) return failed("constraints cannot be satisfied");
    return 1;
}

/* The size of constraints, and at the start of its conditions, in units of rows. */
static double size_of_conditions(double t, const double *z, int at_start, const double *rows)
{
    static double r[NA1], E[NM1][NM1], w[NM1], by_z[NC1][NZ], by_w[NC1][NM1];
    static int pivot[NM1];
    double size = 0.0;
    constraints(t, z, r);
    if (at_start) {
        if (!rates(t, z, E, pivot, w)) return INFINITY;
        start_conditions(t, z, w, r + NQ, by_z, by_w);
    }
    for (int i = 0; i < (at_start ? NQ + NC : NQ); i++) size += rows[i] * r[i] * (rows[i] * r[i]);
    return isfinite(size) ? sqrt(size) : INFINITY;
}

/* The nearest unknowns that satisfy all constraints, at the start its conditions, too; 0 if there are none. Unknowns
   with a large factor move first, those with factor 0 not at all. */
static int nearest(double t, double *z, const double *factor, int at_start)
{
    static double K[NM1][NZ], H[NQ1][NZ], w[NM1], r[NA1], by_z[NC1][NZ], by_w[NC1][NM1], A[NA1 * NZ], rows[NA1];
    static double b[NZ * NZ], unit[NZ], change[NZ], point[NZ], trial[NZ];
    static int which[NA1];
    const int count = at_start ? NQ + NC : NQ;
    memcpy(point, z, sizeof point);
    for (int round = 0; round < 50; round++) {
        if (!derivatives(t, point, w, K, H)) return 0;
        constraints(t, point, r);
        start_conditions(t, point, w, r + NQ, by_z, by_w);
        for (int j = 0; j < NZ; j++) unit[j] = 1.0 + fabs(point[j]);
        for (int i = 0; i < count; i++) {
            double length = 0.0;
            for (int j = 0; j < NZ; j++) {
                double entry = i < NQ ? H[i < NQ ? i : 0][j] : by_z[i >= NQ ? i - NQ : 0][j];
                for (int l = 0; l < NM && i >= NQ; l++) entry += by_w[i - NQ][l] * K[l][j];
                A[i * NZ + j] = entry * unit[j];
                length += A[i * NZ + j] * A[i * NZ + j];
            }
            rows[i] = length > 0.0 ? 1.0 / sqrt(length) : 1.0;
            for (int j = 0; j < NZ; j++) A[i * NZ + j] *= rows[i] * factor[j];
        }
        if (!finite_all(count, r) || !finite_all(count * NZ, A)) return 0;
        for (int j = 0; j < NZ; j++) unit[j] *= factor[j];
        const int known = factored(count, NZ, A, b, which);
        least_change(known, A, b, which, r, rows, unit, change);
        int settled = 1;
        for (int j = 0; j < NZ; j++)
            if (!(fabs(change[j]) <= 1e-12 * (1.0 + fabs(point[j])))) settled = 0;
        if (settled) {
            for (int i = 0; i < count; i++)
                if (fabs(rows[i] * r[i]) > 1e-7) return 0;
            for (int j = 0; j < NZ; j++) z[j] = point[j] + change[j];
            return 1;
        }
        double part = 1.0, size = 0.0; /* less of a change that makes things worse */
        for (int i = 0; i < count; i++) size += rows[i] * r[i] * (rows[i] * r[i]);
        size = sqrt(size);
        for (; part > 1e-3; part *= 0.5) {
            for (int j = 0; j < NZ; j++) trial[j] = point[j] + part * change[j];
            if (size_of_conditions(t, trial, at_start, rows) <= (1.0 - 0.1 * part) * size) break;
        }
        for (int j = 0; j < NZ; j++) point[j] += (part > 1e-3 ? part : 1.0) * change[j];
    }
    return 0;
}

/* Start values that satisfy all constraints and the conditions of the start, near those that are given. */
static int consistent_start(double t, double *z)
{
    static double factor[NZ];
    for (int j = 0; j < NZ; j++) factor[j] = 1e3; /* first those that have no derivatives */
    for (int j = 0; j < NM; j++) factor[MOVING[j]] = 1.0;
    if (nearest(t, z, factor, 1)) return 1;
    return failed("no consistent start values were found: change the given ones");
}

/* The polynomial through the stages, minus the start of the step; s = 1 at its end. */
static void lagrange(double s, double Z[3][NZ], double *value)
{
    const double nodes[4] = {0.0, NODE[0], NODE[1], NODE[2]};
    for (int i = 0; i < NZ; i++) value[i] = 0.0;
    for (int j = 1; j < 4; j++) {
        double weight = 1.0;
        for (int l = 0; l < 4; l++)
            if (l != j) weight *= (s - nodes[l]) / (nodes[j] - nodes[l]);
        for (int i = 0; i < NZ; i++) value[i] += weight * Z[j - 1][i];
    }
}

/* Matrices of the iteration, decomposed for a step size. */
static double real_part[NZ * NZ];
static double complex complex_part[NZ * NZ];
static int real_pivot[NZ], complex_pivot[NZ];

static int prepare(double h)
{
    const double complex both = ALPHA + BETA * _Complex_I;
    for (int i = 0; i < NZ; i++)
        for (int j = 0; j < NZ; j++) complex_part[i * NZ + j] = real_part[i * NZ + j] = -jacobian[i][j];
    for (int i = 0; i < NZ - rank; i++)
        for (int j = 0; j < NM; j++) {
            real_part[i * NZ + MOVING[j]] += GAMMA / h * selector[i][j];
            complex_part[i * NZ + MOVING[j]] += both / h * selector[i][j];
        }
    if (!decompose(NZ, real_part, real_pivot) || !decompose_complex(NZ, complex_part, complex_pivot))
        return failed("a matrix is singular");
    return 1;
}

/* Simplified iteration for the three stages. */
static int stages(double t, const double *z, double h, double Z[3][NZ], const double *unit, double stop, double *eta,
                  double *theta, int *iterations)
{
    static double W[3][NZ], F[3][NZ], G[3][NZ], V[3][NZ], point[NZ];
    static double complex pair[NZ];
    double before = 0.0;
    *theta = 0.0;
    for (int j = 0; j < NZ; j++)
        for (int i = 0; i < 3; i++)
            W[i][j] = FROM_STAGES[i][0] * Z[0][j] + FROM_STAGES[i][1] * Z[1][j] + FROM_STAGES[i][2] * Z[2][j];
    for (int count = 1; count <= ITERATIONS; count++) {
        double size = 0.0;
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < NZ; j++) point[j] = z[j] + Z[i][j];
            if (!equations(t + NODE[i] * h, point, F[i])) return 0;
            times_mass(W[i], V[i]);
        }
        for (int j = 0; j < NZ; j++) {
            for (int i = 0; i < 3; i++)
                G[i][j] = FROM_STAGES[i][0] * F[0][j] + FROM_STAGES[i][1] * F[1][j] + FROM_STAGES[i][2] * F[2][j];
            G[0][j] -= GAMMA / h * V[0][j];
            pair[j] = G[1][j] + G[2][j] * _Complex_I
                      - (ALPHA + BETA * _Complex_I) / h * (V[1][j] + V[2][j] * _Complex_I);
        }
        solve(NZ, real_part, real_pivot, G[0]);
        solve_complex(NZ, complex_part, complex_pivot, pair);
        for (int j = 0; j < NZ; j++) {
            G[1][j] = creal(pair[j]);
            G[2][j] = cimag(pair[j]);
            for (int i = 0; i < 3; i++) size += G[i][j] / unit[j] * (G[i][j] / unit[j]);
        }
        size = sqrt(size / (3.0 * NZ));
        if (!isfinite(size)) return failed("the iteration diverges");
        if (count > 1) {
            *theta = size / before;
            if (*theta >= 0.99 || size * pow(*theta, ITERATIONS - count) / (1.0 - *theta) > stop)
                return failed("the iteration diverges");
            *eta = *theta / (1.0 - *theta);
        }
        before = fmax(size, DBL_EPSILON);
        for (int j = 0; j < NZ; j++) {
            for (int i = 0; i < 3; i++) W[i][j] += G[i][j];
            for (int i = 0; i < 3; i++) Z[i][j] = TO_STAGES[i][0] * W[0][j] + TO_STAGES[i][1] * W[1][j] + TO_STAGES[i][2] * W[2][j];
        }
        *iterations = count;
        if (*eta * size <= stop) return 1;
    }
    return failed("the iteration does not converge");
}

/* The estimate of the error, in units; `push` is what stages contribute. */
static double estimate(const double *f, const double *push, double h, const double *unit, double *error)
{
    double sum = 0.0;
    for (int j = 0; j < NZ; j++) error[j] = f[j] + push[j];
    solve(NZ, real_part, real_pivot, error);
    for (int j = 0; j < NZ; j++) {
        const double part = error[j] / unit[j] * (ROUGH[j] ? fmin(h, 1.0) : 1.0);
        sum += part * part;
    }
    return sqrt(sum / NZ);
}

/* A step of size h with its error; the stages are in Z, the end is in z_new if the error is below 1. */
static int attempt(double t, const double *z, double h, double rtol, const double *unit, int careful, double *eta,
                   double Z[3][NZ], double *z_new, double *theta, int *iterations, double *error)
{
    static double now[NZ], push[NZ], sum[NZ], vector[NZ], point[NZ];
    const double stop = fmax(10.0 * DBL_EPSILON / rtol, fmin(0.03, sqrt(rtol)));
    *eta = pow(fmax(*eta, DBL_EPSILON), 0.8);
    if (!equations(t, z, now) || !stages(t, z, h, Z, unit, stop, eta, theta, iterations)) return 0;
    for (int j = 0; j < NZ; j++) sum[j] = (ERROR[0] * Z[0][j] + ERROR[1] * Z[1][j] + ERROR[2] * Z[2][j]) / h;
    times_mass(sum, push);
    *error = estimate(now, push, h, unit, vector);
    if (*error >= 1.0 && careful) {
        for (int j = 0; j < NZ; j++) point[j] = z[j] + vector[j];
        if (!equations(t, point, now)) return 0;
        *error = estimate(now, push, h, unit, vector);
    }
    if (!isfinite(*error)) return failed("a function is not finite");
    *error = fmax(*error, 1e-10);
    if (*error >= 1.0) return 1;
    for (int j = 0; j < NZ; j++) z_new[j] = z[j] + Z[2][j];
    return correct(t + h, z_new, rtol);
}

static void row(double t, const double *z)
{
    static double out[NR];
    results(t, z, out);
    printf("%.15g", t);
    for (int i = 0; i < NR; i++) printf(",%.15g", out[i]);
    printf("\n");
}

/* What is written of a step, up to a part of it. */
static void output(double t, const double *z, double h, double Z[3][NZ], double part, double t_end, int intervals,
                   int *written)
{
    static double point[NZ];
    if (intervals <= 0) {
        lagrange(part, Z, point);
        for (int j = 0; j < NZ; j++) point[j] = z[j] + (part < 1.0 ? point[j] : Z[2][j]);
        row(t + part * h, point);
    }
    while (*written < intervals) {
        const double next = *written + 1 == intervals ? t_end
                                                      : START_TIME + (t_end - START_TIME) * (*written + 1) / intervals;
        if (next > t + part * h * (1.0 + 4.0 * DBL_EPSILON)) return;
        lagrange((next - t) / h, Z, point);
        for (int j = 0; j < NZ; j++) point[j] += z[j];
        row(next, point);
        ++*written;
    }
}

/* @@if events */
/* -- events --------------------------------------------------------------------------------------------------------

   Truth values of relations are discrete variables. Near zero, within a band that tolerances give, they stay what they
   are; an event is where one leaves its band on the other side. */

static double band[NX1], largest[NX1];

static double spacing(double a) { return nextafter(fabs(a), INFINITY) - fabs(a); }

/* The bands of the relations; all that holds now (if that is known) does so inside of its band. */
static int measure(double t, const double *z, const double *unit, int known)
{
    static double g[NX1], G[NX1][NZ];
    relations(t, z, g);
    relation_slopes(t, z, G);
    for (int i = 0; i < NX; i++) {
        double width = 0.0;
        for (int j = 0; j < NZ; j++) width += 1e-2 * fabs(G[i][j]) * unit[j];
        largest[i] = fmax(largest[i], fabs(g[i]));
        band[i] = fmax(width, fmax(1e-13 * largest[i], 1e-290));
        if (known) band[i] = fmax(band[i], 1.1 * (d[BITS[i]] != 0.0 ? -g[i] : g[i]));
    }
    return finite_all(NX, g);
}

/* The least of what is negative for relations that have changed; `changed` are the numbers of these. */
static double watched(double t, const double *z, int *count, int *changed)
{
    static double g[NX1];
    double least = INFINITY;
    relations(t, z, g);
    *count = 0;
    for (int i = 0; i < NX; i++) g[i] = (d[BITS[i]] != 0.0 ? g[i] : -g[i]) + band[i];
    for (int i = 0; i < NX; i++) least = fmin(least, g[i]);
    for (int i = 0; i < NX; i++)
        if (g[i] <= fmax(least, 0.0)) changed[(*count)++] = i;
    return least;
}

/* The numbers of the relations that get to zero at the end of a step, and would go on. Returns how many. */
static int arriving(double t, const double *z, double h, double Z[3][NZ], int *numbers)
{
    static double g[NX1], before[NX1], point[NZ];
    int count = 0;
    lagrange(1.0 - 1e-3, Z, point);
    for (int j = 0; j < NZ; j++) point[j] += z[j] - Z[2][j];
    relations(t, z, g);
    relations(t - 1e-3 * h, point, before);
    for (int i = 0; i < NX; i++) {
        const double towards = (d[BITS[i]] != 0.0 ? before[i] - g[i] : g[i] - before[i]) / (1e-3 * h);
        if (towards > 0.0 && fabs(g[i]) <= 1024.0 * spacing(t) * towards) numbers[count++] = i;
    }
    return count;
}

/* Whether a relation has changed at a place in a step. */
static int changed_at(double t, const double *z, double h, double Z[3][NZ], double place)
{
    static double point[NZ];
    static int numbers[NX1];
    int count;
    if (place < 1.0) lagrange(place, Z, point);
    for (int j = 0; j < NZ; j++) point[j] = z[j] + (place < 1.0 ? point[j] : Z[2][j]);
    return watched(t + place * h, point, &count, numbers) < 0.0;
}

/* Where in a step (0 to 1) the first relation changes; -1 if there is none. */
static double first_crossing(double t, const double *z, double h, double Z[3][NZ])
{
    double low = 0.0, high = 0.0;
    int part = 1;
    if (NX == 0) return -1.0;
    for (; part <= 8; part++) {
        high = part / 8.0;
        if (changed_at(t, z, h, Z, high)) break;
        low = high;
    }
    if (part > 8) return -1.0;
    while (high - low > 1e-13 * high + 1e-300) {
        const double middle = 0.5 * (low + high);
        if (middle <= low || middle >= high) break;
        if (changed_at(t, z, h, Z, middle)) high = middle;
        else low = middle;
    }
    return high;
}

/* Discrete variables with truth values that suit the unknowns. */
static int truth(double t, const double *z, int start, double *new)
{
    static double g[NX1], when[NT1];
    memcpy(new, d, sizeof d);
    relations(t, z, g);
    if (!finite_all(NX, g)) return 0;
    for (int i = 0; i < NX; i++) {
        const int stays = start ? CLOSED[i] : d[BITS[i]] != 0.0;
        new[BITS[i]] = fabs(g[i]) <= band[i] ? stays : g[i] > 0.0;
    }
    times(t, z, when);
    for (int i = 0; i < NT; i++) {
        const double slack = 64.0 * spacing(fmax(fabs(when[i]), fabs(t)));
        const int now = (when[i] <= t + slack) == RISING[i];
        new[TIMED_BITS[i]] = start && fabs(when[i] - t) <= slack ? TIMED_CLOSED[i] : now;
    }
    return 1;
}

/* Unknowns that suit the discrete variables: those with derivatives stay, unless constraints need them to move. */
static int unknowns(double t, double *z, const int *held, int start)
{
    static double factor[NZ];
    if (start) return consistent_start(t, z);
    for (int free_ones = 0; free_ones < 2; free_ones++) {
        for (int j = 0; j < NZ; j++) factor[j] = 1.0;
        for (int j = 0; j < NM; j++) factor[MOVING[j]] = free_ones;
        for (int j = 0; j < NZ; j++)
            if (held[j]) factor[j] *= 1e-8;
        if (nearest(t, z, factor, 0)) return 1;
    }
    return failed("at an event no unknowns satisfy the equations");
}

/* Unknowns and discrete variables that suit each other, values before the event being held. */
static int settled(double t, double *z, const int *held, int start)
{
    enum { MOST = 200 };
    static double first[ND], z_first[NZ], seen[MOST][ND], new[ND];
    memcpy(first, d, sizeof d);
    memcpy(z_first, z, sizeof z_first);
    for (int single = 0; single < 2; single++) { /* if it goes round in circles, or nowhere, one truth value at a time */
        memcpy(d, first, sizeof d);
        memcpy(z, z_first, sizeof z_first);
        for (int count = 0; count < MOST; count++) {
            int circle = 0, wrong = 0;
            for (int i = 0; i < count && !circle; i++) circle = memcmp(seen[i], d, sizeof d) == 0;
            if (circle) break;
            memcpy(seen[count], d, sizeof d);
            if (!unknowns(t, z, held, start)) {
                if (single || count == 0) return 0;
                break;
            }
            if (!truth(t, z, start, new)) return 0;
            for (int i = 0; i < NX; i++)
                if (new[BITS[i]] != d[BITS[i]] && wrong++ > 0 && single) new[BITS[i]] = d[BITS[i]];
            memcpy(d, new, sizeof d);
            assignments(t, z, new);
            if (!finite_all(ND, new)) return 0;
            memcpy(d, new, sizeof d);
            int same = 1;
            for (int i = 0; i < ND; i++) same = same && d[i] == seen[count][i];
            if (same) return 1;
        }
    }
    return failed("an event has no end: truth values of relations do not settle");
}

/* What assertions say: 0 if one fails, 2 if the run is to end, else 1. */
static int judged(double t, const double *z)
{
    static double value[NCL1];
    int verdict = 1;
    claims(t, z, value);
    for (int i = 0; i < NCL; i++) {
        if (CLAIM_KINDS[i] == 2 && value[i] != 0.0) {
            fprintf(stderr, "the run ends at t = %.9g: %s\n", t, MESSAGES[i]);
            verdict = 2;
        } else if (CLAIM_KINDS[i] == 1 && value[i] == 0.0) {
            fprintf(stderr, "warning: at t = %.9g: %s\n", t, MESSAGES[i]);
        } else if (CLAIM_KINDS[i] == 0 && !(value[i] < 0.0 || value[i] > 0.0)) {
            return failed(MESSAGES[i]);
        }
    }
    return verdict;
}

/* Clocks that strike at t become 1. */
static void strike(double t, const double *z)
{
    static double pair[NK1];
    clocks(t, z, pair);
    for (int i = 0; i < NK; i++) {
        const double start = pair[2 * i], interval = pair[2 * i + 1];
        const double tick = start + fmax(round((t - start) / interval), 0.0) * interval;
        if (fabs(tick - t) <= 64.0 * spacing(fmax(fabs(tick), fabs(t)))) d[CLOCKS[i]] = 1.0;
    }
}

/* Unknowns that start again: their values go to z, their numbers to `held`. Returns how many. */
static int restart(double t, double *z, int *held)
{
    static double condition[NI1], value[NI1];
    int count = 0;
    restarts(t, z, condition, value);
    for (int j = 0; j < NZ; j++) held[j] = 0;
    for (int i = 0; i < NI; i++)
        if (condition[i] != 0.0) {
            z[RESTARTED[i]] = value[i];
            held[RESTARTED[i]] = 1;
            count++;
        }
    return count;
}

/* Everything that happens at t, after relations have changed: 0 if it fails, 2 if the run is to end, else 1. */
static int event(double t, double *z, int count, const int *which, int terminal)
{
    static double old[ND];
    static int held[NZ];
    int verdict = 1;
    for (int i = 0; i < count; i++) d[BITS[which[i]]] = 1.0 - d[BITS[which[i]]];
    strike(t, z);
    if (terminal && TERMINAL >= 0) d[TERMINAL >= 0 ? TERMINAL : 0] = 1.0;
    for (int j = 0; j < NZ; j++) held[j] = 0;
    for (int pass = 0; pass < 200; pass++) {
        if (!settled(t, z, held, 0)) return 0;
        const int now = judged(t, z);
        if (!now) return 0;
        if (now == 2) verdict = 2;
        const int restarted = restart(t, z, held);
        memcpy(old, d, sizeof d);
        for (int i = 0; i < NK; i++) d[CLOCKS[i]] = 0.0;
        if (INITIAL >= 0) d[INITIAL >= 0 ? INITIAL : 0] = 0.0;
        if (TERMINAL >= 0) d[TERMINAL >= 0 ? TERMINAL : 0] = 0.0;
        for (int i = 0; i < NP; i++) d[BEFORE[i]] = d[NOW[i]];
        int same = restarted == 0;
        for (int i = 0; i < ND; i++) same = same && d[i] == old[i];
        if (same) return verdict;
    }
    return failed("an event has no end: discrete variables change again and again");
}

/* What happens at the start. */
static int begin(double t, double *z, double rtol, double atol)
{
    static double unit[NZ], new[ND];
    static int held[NZ];
    for (int i = 0; i < NP; i++) d[BEFORE[i]] = d[NOW[i]];
    if (INITIAL >= 0) d[INITIAL >= 0 ? INITIAL : 0] = 1.0;
    for (int j = 0; j < NZ; j++) unit[j] = atol + rtol * fabs(z[j]);
    if (!measure(t, z, unit, 0) || !truth(t, z, 1, new)) return 0;
    memcpy(d, new, sizeof d);
    for (int j = 0; j < NZ; j++) held[j] = 0;
    if (!settled(t, z, held, 1) || !judged(t, z)) return 0;
    restart(t, z, held);
    if (INITIAL >= 0) d[INITIAL >= 0 ? INITIAL : 0] = 0.0;
    for (int i = 0; i < NP; i++) d[BEFORE[i]] = d[NOW[i]];
    return event(t, z, 0, NULL, 0);
}

/* When the next event is due whose time is known. */
static double next_time(double t, const double *z)
{
    static double when[NT1], pair[NK1];
    const double late = t + 64.0 * spacing(fmax(fabs(t), fabs(STOP_TIME)));
    double found = INFINITY;
    times(t, z, when);
    clocks(t, z, pair);
    for (int i = 0; i < NT; i++)
        if (when[i] > late) found = fmin(found, when[i]);
    for (int i = 0; i < NK; i++) {
        double number = fmax(floor((late - pair[2 * i]) / pair[2 * i + 1]), 0.0);
        while (pair[2 * i] + number * pair[2 * i + 1] <= late) number += 1.0;
        found = fmin(found, pair[2 * i] + number * pair[2 * i + 1]);
    }
    return found;
}

/* @@end */
/* Integrate from *now to t_end, or to an event; *now and z become the time and the unknowns there. Returns 0 if that
   fails. `count` and `which` are the relations that change. */
static int integrate(double *now, double *z, double t_end, double rtol, double atol, int intervals, double stop_time,
                     int *written, int *count, int *which)
{
    static double unit[NZ], w[NM1], E[NM1][NM1], Z[3][NZ], Z_old[3][NZ], z_new[NZ];
    static int pivot[NM1];
    double t = *now, size = 0.0, speed = 0.0, h_old = 0.0, error_old = 1.0, eta = 1.0, prepared = 0.0;
    int linear = 1, fresh = 1, rejected = 0;
    *count = 0;
    (void)which;
    for (int j = 0; j < NZ; j++) unit[j] = atol + rtol * fabs(z[j]);
    if (!linearize(t, z, unit, -1) || !rates(t, z, E, pivot, w)) return 0;
    const int expected = rank;
    for (int j = 0; j < NZ; j++) size += z[j] / unit[j] * (z[j] / unit[j]) / NZ;
    for (int j = 0; j < NM; j++) speed += w[j] / unit[MOVING[j]] * (w[j] / unit[MOVING[j]]) / NM;
    double h = speed > 0.0 ? 1e-2 * sqrt(fmax(size, 1.0) / speed) : 1e-6 * (t_end - t);
    h = fmin(h, 1e-3 * (t_end - t));
    reason = "the error estimate is too large";
    /* @@if events */
    int tries = 0;
    if (!measure(t, z, unit, 1)) return 0;
    /* @@end */
    while (t < t_end) {
        /* @@if events */
        h = fmin(h, (STOP_TIME - START_TIME) / 200.0); /* relations are looked at eight times in a step */
        /* @@end */
        const int last = t + 1.0001 * h >= t_end;
        double theta = 0.0, error = 0.0;
        int iterations = 0;
        if (last) h = t_end - t;
        if (h < 10.0 * DBL_EPSILON * fmax(fabs(t), fabs(t_end))) {
            fprintf(stderr, "at t = %.9g the step size became too small\n", t);
            return 0;
        }
        for (int j = 0; j < NZ; j++) unit[j] = atol + rtol * fabs(z[j]);
        int fine = 1;
        if (!linear) {
            fresh = 1;
            prepared = 0.0;
            fine = linear = linearize(t, z, unit, expected);
        }
        if (fine && prepared != h) {
            fine = prepare(h);
            prepared = h;
        }
        for (int i = 0; i < 3; i++) {
            if (h_old > 0.0) lagrange(1.0 + NODE[i] * h / h_old, Z_old, Z[i]);
            for (int j = 0; j < NZ; j++) Z[i][j] = h_old > 0.0 ? Z[i][j] - Z_old[2][j] : 0.0;
        }
        if (!fine || !attempt(t, z, h, rtol, unit, h_old == 0.0 || rejected, &eta, Z, z_new, &theta, &iterations, &error)) {
            rejected = 1;
            if (fresh) h *= 0.5;
            linear = 0;
            eta = 1.0;
            continue;
        }
        const double safety = 0.9 * (1 + 2 * ITERATIONS) / (iterations + 2 * ITERATIONS);
        double quotient = fmin(5.0, fmax(0.125, pow(error, 0.25) / safety));
        if (error >= 1.0) {
            reason = "the error estimate is too large";
            rejected = 1;
            h = h_old > 0.0 ? h / quotient : 0.1 * h;
            if (!fresh) linear = 0;
            continue;
        }
        if (h_old > 0.0)
            quotient = fmax(quotient, fmin(5.0, h_old / h * pow(error * error / error_old, 0.25) / 0.9));
        const double h_new = rejected ? fmin(h, h / quotient) : h / quotient;
        for (int j = 0; j < NZ; j++) Z[2][j] = z_new[j] - z[j];
        /* @@if events */
        const double place = first_crossing(t, z, h, Z);
        const double farther = 1e-10 * fmax(fabs(t), fabs(t_end));
        if (place > 1e-4 && place < 1.0 - 1e-9 && tries < 8 && place * h > farther) {
            h *= place; /* the same step again, up to the event */
            tries++;
            rejected = 1;
            continue;
        }
        if (place >= 0.0) {
            lagrange(place, Z, z_new);
            for (int j = 0; j < NZ; j++) z_new[j] += z[j];
            if (!correct(t + place * h, z_new, rtol)) return 0;
            output(t, z, h, Z, place, stop_time, intervals, written);
            *now = place >= 1.0 - 1e-9 && last ? t_end : t + place * h;
            memcpy(z, z_new, sizeof z_new);
            watched(*now, z, count, which);
            return 1;
        }
        tries = 0;
        /* @@end */
        output(t, z, h, Z, 1.0, stop_time, intervals, written);
        t = last ? t_end : t + h;
        memcpy(z, z_new, sizeof z_new);
        memcpy(Z_old, Z, sizeof Z);
        h_old = h;
        error_old = fmax(error, 1e-2);
        rejected = fresh = 0;
        if (theta > 1e-3) linear = 0;
        if (!linear || h_new < h || h_new > 1.2 * h) h = h_new;
    }
    *now = t_end;
    /* @@if events */
    *count = arriving(t_end, z, h_old, Z_old, which);
    /* @@end */
    return 1;
}

/* From the start to the end, from event to event. */
static int run(double *z, double t_end, double rtol, double atol, int intervals)
{
    double t = START_TIME;
    int written = 0, count = 0;
    /* @@if smooth */
    int which[1];
    if (!consistent_start(t, z)) return 0;
    row(t, z);
    return integrate(&t, z, t_end, rtol, atol, intervals, t_end, &written, &count, which);
    /* @@end */
    /* @@if events */
    static double recent[200];
    static int which[NX1];
    int events = 0;
    int verdict = begin(t, z, rtol, atol);
    if (verdict) row(t, z);
    while (verdict == 1 && t < t_end) {
        const double due = next_time(t, z);
        if (!integrate(&t, z, fmin(due, t_end), rtol, atol, intervals, t_end, &written, &count, which)) return 0;
        const int at_end = t >= t_end;
        if (count > 0 || t >= due || (at_end && TERMINAL >= 0)) {
            if (count > 0) {
                if (events >= 200 && t - recent[events % 200] < 1e-7 * (t_end - START_TIME))
                    {
                    fprintf(stderr, "at t = %.9g '%s' changes again and again\n", t, RELATIONS[which[0]]);
                    return failed("relations change again and again");
                }
                recent[events++ % 200] = t;
            }
            verdict = event(t, z, count, which, at_end);
            if (verdict && intervals <= 0) row(t, z);
        }
    }
    if (!verdict) fprintf(stderr, "at t = %.9g:\n", t);
    return verdict;
    /* @@end */
}

int main(int count, char **given)
{
    static double z[NZ];
    const double t_end = count > 1 ? atof(given[1]) : STOP_TIME;
    const double rtol = count > 2 ? atof(given[2]) : RTOL, atol = count > 2 ? atof(given[2]) : ATOL;
    const int intervals = count > 3 ? atoi(given[3]) : INTERVALS;
    start_values(z);
    printf("time");
    for (int i = 0; i < NR; i++) printf(",%s", RESULTS[i]);
    printf("\n");
    if (run(z, t_end, rtol, atol, intervals)) return 0;
    fprintf(stderr, "error: %s\n", reason);
    return 1;
}
