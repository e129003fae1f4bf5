! @@NAME@@, translated by dalembert.
!
!   E(z,t) w = k(z,t)    differential equations: w are the derivatives of the unknowns with the numbers moving
!   0 = h(z,t)           constraints of all levels, also those which the equations hide
!
@@COMMENTS@@
!
!   gfortran -O2 THIS_FILE.f90 -o model
!   ./model [stop time [tolerance [number of intervals]]] > results.csv
!
! writes all variables at every step, or at equidistant times if a number of intervals is given.

module the_model
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan, ieee_positive_inf
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  real(dp), parameter :: start_time = @@T0@@
  real(dp), parameter :: stop_time = @@T1@@
  real(dp), parameter :: default_rtol = @@RTOL@@
  real(dp), parameter :: default_atol = @@ATOL@@
  integer, parameter :: default_intervals = 0   ! 0: results at every step

  ! -- parameters: they may be changed here ----------------------------------------------------------------------

@@PARAMETERS@@

  ! -- the model -------------------------------------------------------------------------------------------------

  integer, parameter :: nz = @@N@@              ! unknowns
  integer, parameter :: nm = @@M@@              ! differential equations
  integer, parameter :: nq = @@Q@@              ! constraints
  integer, parameter :: nc = @@NC@@              ! conditions at the start
  integer, parameter :: nr = @@NR@@              ! results
  integer, parameter :: moving(nm) = [integer :: @@MOVING@@]
  ! errors of these unknowns count by the step size, as they follow from derivatives of equations
  logical, parameter :: rough(nz) = [logical :: @@ROUGH@@]
  ! @@if events
  ! discrete variables, their places, and what is known of relations (bits: by value, timed_bits: by time)
  integer, parameter :: nd = @@ND@@, nx = @@NX@@, nt = @@NT@@, nk = @@NK@@, ni = @@NI@@, np = @@NP@@, ncl = @@NCL@@
  integer, parameter :: bits(nx) = [integer :: @@BITS@@]
  integer, parameter :: timed_bits(nt) = [integer :: @@TIMED_BITS@@]
  logical, parameter :: closed(nx) = [logical :: @@CLOSED@@]
  logical, parameter :: timed_closed(nt) = [logical :: @@TIMED_CLOSED@@]
  logical, parameter :: rising(nt) = [logical :: @@RISING@@]
  integer, parameter :: clocks_at(nk) = [integer :: @@CLOCKS@@]
  integer, parameter :: restarted(ni) = [integer :: @@RESTARTED@@]
  integer, parameter :: now_at(np) = [integer :: @@NOW@@]          ! values,
  integer, parameter :: before_at(np) = [integer :: @@BEFORE@@]    ! and those before an event
  integer, parameter :: initial_at = @@INITIAL@@, terminal_at = @@TERMINAL@@
  ! 0 has to hold, 1 warns if it does not, 2 ends the run where it holds
  integer, parameter :: claim_kinds(ncl) = [integer :: @@CLAIM_KINDS@@]
  character(len=80), parameter :: messages(ncl) = [character(len=80) :: @@MESSAGES@@]
  character(len=80), parameter :: relation_names(nx) = [character(len=80) :: @@RELATION_NAMES@@]
  real(dp) :: d(nd) = [real(dp) :: @@DISCRETE@@]
  ! @@end

contains

  elemental real(dp) function sign_of(a)
    real(dp), intent(in) :: a
    sign_of = merge(1.0_dp, merge(-1.0_dp, a, a < 0.0_dp), a > 0.0_dp)
  end function

  elemental real(dp) function floor_of(a)
    real(dp), intent(in) :: a
    floor_of = aint(a) - merge(1.0_dp, 0.0_dp, aint(a) > a)
  end function

  elemental real(dp) function ceiling_of(a)
    real(dp), intent(in) :: a
    ceiling_of = aint(a) + merge(1.0_dp, 0.0_dp, aint(a) < a)
  end function

  elemental real(dp) function remainder_of(a, b)
    real(dp), intent(in) :: a, b
    real(dp) :: rest
    rest = mod(a, b)
    if (2.0_dp * abs(rest) > abs(b)) rest = rest - sign(b, rest)
    remainder_of = rest
  end function

  elemental real(dp) function power(a, b)
    ! as in C: negative numbers have powers with exponents that are whole
    real(dp), intent(in) :: a, b
    if (abs(b) < 1.0e9_dp .and. aint(b) == b) then
      power = a**int(b)
    else
      power = a**b
    end if
  end function

  elemental real(dp) function log1p_of(a)
    real(dp), intent(in) :: a
    real(dp) :: u
    u = 1.0_dp + a
    log1p_of = a
    if (u /= 1.0_dp) log1p_of = log(u) * a / (u - 1.0_dp)
  end function

  elemental real(dp) function expm1_of(a)
    real(dp), intent(in) :: a
    expm1_of = 2.0_dp * exp(0.5_dp * a) * sinh(0.5_dp * a)
  end function

  real(dp) function unusual(kind_of_it)
    integer, intent(in) :: kind_of_it
    unusual = ieee_value(1.0_dp, ieee_quiet_nan)
    if (kind_of_it /= 0) unusual = sign(ieee_value(1.0_dp, ieee_positive_inf), real(kind_of_it, dp))
  end function

  subroutine write_names()
    write (*, '(a)', advance='no') 'time'
@@RESULT_NAMES@@
    write (*, '(a)') ''
  end subroutine

@@FUNCTIONS@@

end module

! -- linear algebra ------------------------------------------------------------------------------------------------

module algebra
  use the_model, only: dp
  implicit none

contains

  logical function decompose(n, a, pivot)
    ! Factors of a matrix by elimination with row exchanges; false if it is singular.
    integer, intent(in) :: n
    real(dp), intent(inout) :: a(n, n)
    integer, intent(out) :: pivot(n)
    real(dp) :: line(n)
    integer :: j, l, p
    decompose = .false.
    do j = 1, n
      p = j - 1 + maxloc(abs(a(j:n, j)), 1)
      pivot(j) = p
      if (.not. (abs(a(p, j)) > 0.0_dp .and. abs(a(p, j)) <= huge(1.0_dp))) return
      if (p /= j) then
        line = a(j, :)
        a(j, :) = a(p, :)
        a(p, :) = line
      end if
      a(j + 1:n, j) = a(j + 1:n, j) / a(j, j)
      do l = j + 1, n
        a(j + 1:n, l) = a(j + 1:n, l) - a(j, l) * a(j + 1:n, j)
      end do
    end do
    decompose = .true.
  end function

  subroutine solve(n, a, pivot, b)
    integer, intent(in) :: n, pivot(n)
    real(dp), intent(in) :: a(n, n)
    real(dp), intent(inout) :: b(n)
    real(dp) :: other
    integer :: j
    do j = 1, n
      other = b(pivot(j))
      b(pivot(j)) = b(j)
      b(j) = other
    end do
    do j = 1, n
      b(j + 1:n) = b(j + 1:n) - b(j) * a(j + 1:n, j)
    end do
    do j = n, 1, -1
      b(j) = b(j) / a(j, j)
      b(1:j - 1) = b(1:j - 1) - b(j) * a(1:j - 1, j)
    end do
  end subroutine

  logical function decompose_complex(n, a, pivot)
    ! The same for complex numbers.
    integer, intent(in) :: n
    complex(dp), intent(inout) :: a(n, n)
    integer, intent(out) :: pivot(n)
    complex(dp) :: line(n)
    integer :: j, l, p
    decompose_complex = .false.
    do j = 1, n
      p = j - 1 + maxloc(abs(a(j:n, j)), 1)
      pivot(j) = p
      if (.not. (abs(a(p, j)) > 0.0_dp .and. abs(a(p, j)) <= huge(1.0_dp))) return
      if (p /= j) then
        line = a(j, :)
        a(j, :) = a(p, :)
        a(p, :) = line
      end if
      a(j + 1:n, j) = a(j + 1:n, j) / a(j, j)
      do l = j + 1, n
        a(j + 1:n, l) = a(j + 1:n, l) - a(j, l) * a(j + 1:n, j)
      end do
    end do
    decompose_complex = .true.
  end function

  subroutine solve_complex(n, a, pivot, b)
    integer, intent(in) :: n, pivot(n)
    complex(dp), intent(in) :: a(n, n)
    complex(dp), intent(inout) :: b(n)
    complex(dp) :: other
    integer :: j
    do j = 1, n
      other = b(pivot(j))
      b(pivot(j)) = b(j)
      b(j) = other
    end do
    do j = 1, n
      b(j + 1:n) = b(j + 1:n) - b(j) * a(j + 1:n, j)
    end do
    do j = n, 1, -1
      b(j) = b(j) / a(j, j)
      b(1:j - 1) = b(1:j - 1) - b(j) * a(1:j - 1, j)
    end do
  end subroutine

  integer function factored(q, n, a, basis, order)
    ! Rows of a (q x n) in another order are a triangle times basis^T, by reflections: the row that is farthest from the others
    ! comes first. The triangle takes the place of a; the columns of basis are orthonormal. Returns the rank.
    integer, intent(in) :: q, n
    real(dp), intent(inout) :: a(q, n)
    real(dp), intent(out) :: basis(n, n)
    integer, intent(out) :: order(q)
    real(dp) :: v(n), line(n), lengths(q), first, length
    integer :: i, j, number
    basis = 0.0_dp
    do i = 1, n
      basis(i, i) = 1.0_dp
    end do
    order = [(i, i = 1, q)]
    factored = 0
    first = 0.0_dp
    do j = 1, min(q, n)
      lengths(j:q) = sqrt(sum(a(j:q, j:n)**2, 2))
      i = j - 1 + maxloc(lengths(j:q), 1)
      if (j == 1) first = lengths(i)
      if (.not. lengths(i) > 1.0e-10_dp * first) exit
      number = order(j)
      order(j) = order(i)
      order(i) = number
      line = a(j, :)
      a(j, :) = a(i, :)
      a(i, :) = line
      v(j:n) = a(j, j:n)
      v(j) = v(j) + sign(sqrt(sum(v(j:n)**2)), v(j))
      length = sum(v(j:n)**2)
      do i = j, q
        a(i, j:n) = a(i, j:n) - 2.0_dp * sum(a(i, j:n) * v(j:n)) / length * v(j:n)
      end do
      do i = 1, n
        basis(i, j:n) = basis(i, j:n) - 2.0_dp * sum(basis(i, j:n) * v(j:n)) / length * v(j:n)
      end do
      factored = j
    end do
  end function

  subroutine least_change(known, q, n, a, basis, order, r, row_scale, unit, change)
    ! The change of least length, measured by units, that makes triangle basis^T change = -r.
    integer, intent(in) :: known, q, n, order(q)
    real(dp), intent(in) :: a(q, n), basis(n, n), r(q), row_scale(q), unit(n)
    real(dp), intent(out) :: change(n)
    real(dp) :: u(known)
    integer :: i
    do i = 1, known
      u(i) = row_scale(order(i)) * r(order(i))
      u(i) = (u(i) - sum(a(i, 1:i - 1) * u(1:i - 1))) / a(i, i)
    end do
    change = matmul(basis(:, 1:known), u)
    change = -unit * change
  end subroutine

end module

! -- the method: Radau IIA of order 5 ------------------------------------------------------------------------------
!
! Constraints restrict the unknowns to a manifold. Of the differential equations as many are needed as it has
! dimensions: those combinations S which belong to its tangent space. Together they are
!     S w(z,t) = S z',   0 = h(z,t),
! as many equations as unknowns, and all constraints hold at every step.

module method
  use, intrinsic :: iso_fortran_env, only: error_unit
  use the_model
  use algebra
  implicit none
  real(dp), parameter :: node(3) = [@@C@@]
  real(dp), parameter :: to_stages(3, 3) = transpose(reshape([ &
@@T@@ &
    ], [3, 3]))
  real(dp), parameter :: from_stages(3, 3) = transpose(reshape([ &
@@TI@@ &
    ], [3, 3]))
  real(dp), parameter :: gamma_of_it = @@GAMMA@@
  complex(dp), parameter :: pair_of_it = (@@ALPHA@@, @@BETA@@)
  real(dp), parameter :: error_weight(3) = [@@ERROR@@]
  real(dp), parameter :: eps = epsilon(1.0_dp)
  integer, parameter :: most_iterations = 8
  character(len=80) :: reason = ''

  ! The linearization at a point: the constraints' decomposition, the selected equations and their derivatives. units are
  ! those of the unknowns, row_scale of the constraints.
  real(dp) :: units(nz), tolerance(nz), row_scale(nq), triangle(nq, nz), basis(nz, nz), selector(nz, nm), jacobian(nz, nz)
  integer :: order(nq), rank_of_it
  ! matrices of the iteration, decomposed for a step size
  real(dp) :: real_part(nz, nz)
  complex(dp) :: complex_part(nz, nz)
  integer :: real_pivot(nz), complex_pivot(nz)
  ! @@if events
  real(dp) :: band(nx) = 0.0_dp, largest(nx) = 0.0_dp
  ! @@end

contains

  logical function failed(why)
    character(len=*), intent(in) :: why
    reason = why
    failed = .false.
  end function

  logical function finite_all(values)
    real(dp), intent(in) :: values(:)
    finite_all = .true.
    if (.not. all(abs(values) <= huge(1.0_dp))) finite_all = failed('a function is not finite')
  end function

  logical function rates(t, z, E, pivot, w)
    ! E, decomposed, and the derivatives w
    real(dp), intent(in) :: t, z(nz)
    real(dp), intent(out) :: E(nm, nm), w(nm)
    integer, intent(out) :: pivot(nm)
    call leading_and_rhs(t, z, E, w)
    rates = finite_all(w)
    if (.not. rates) return
    rates = decompose(nm, E, pivot)
    if (.not. rates) rates = failed('the leading matrix is singular')
    if (.not. rates) return
    call solve(nm, E, pivot, w)
    rates = finite_all(w)
  end function

  logical function derivatives(t, z, w, K, H)
    ! K becomes the derivative of w by the unknowns, H that of the constraints
    real(dp), intent(in) :: t, z(nz)
    real(dp), intent(out) :: w(nm), K(nm, nz), H(nq, nz)
    real(dp) :: E(nm, nm)
    integer :: pivot(nm), j
    derivatives = rates(t, z, E, pivot, w)
    if (.not. derivatives) return
    call jacobians(t, z, w, K, H)
    do j = 1, nz
      call solve(nm, E, pivot, K(:, j))
    end do
    derivatives = finite_all([K]) .and. finite_all([H])
  end function

  logical function linearize(t, z, unit, expected)
    real(dp), intent(in) :: t, z(nz), unit(nz)
    integer, intent(in) :: expected
    real(dp) :: K(nm, nz), H(nq, nz), w(nm), chosen(nm, nm), tangent(nz, nm), length
    integer :: i, dof, of_tangent(nz)
    tolerance = unit
    units = 1.0e4_dp * unit                       ! large for those that follow from the others
    units(moving) = unit(moving)
    linearize = derivatives(t, z, w, K, H)
    if (.not. linearize) return
    do i = 1, nq
      length = sqrt(sum((H(i, :) * units)**2))
      row_scale(i) = 1.0_dp
      if (length > 0.0_dp) row_scale(i) = 1.0_dp / length
      triangle(i, :) = row_scale(i) * H(i, :) * units
    end do
    rank_of_it = factored(nq, nz, triangle, basis, order)
    if (expected >= 0 .and. rank_of_it /= expected) then
      linearize = failed('constraints depend on each other')
      return
    end if
    dof = nz - rank_of_it
    tangent(1:dof, :) = transpose(basis(moving, rank_of_it + 1:nz))
    if (factored(dof, nm, tangent(1:dof, :), chosen, of_tangent(1:dof)) < dof) then
      linearize = failed('unknowns without derivatives are not determined by the constraints')
      return
    end if
    do i = 1, dof
      selector(i, :) = chosen(:, i) / units(moving)
    end do
    jacobian(1:dof, :) = matmul(selector(1:dof, :), K)
    do i = 1, rank_of_it
      jacobian(dof + i, :) = row_scale(order(i)) * H(order(i), :)
    end do
  end function

  logical function equations(t, z, f)
    ! S w and the constraints
    real(dp), intent(in) :: t, z(nz)
    real(dp), intent(out) :: f(nz)
    real(dp) :: E(nm, nm), w(nm), h(nq)
    integer :: pivot(nm), dof
    equations = rates(t, z, E, pivot, w)
    if (.not. equations) return
    call constraints(t, z, h)
    dof = nz - rank_of_it
    f(1:dof) = matmul(selector(1:dof, :), w)
    f(dof + 1:nz) = row_scale(order(1:rank_of_it)) * h(order(1:rank_of_it))
    equations = finite_all(f)
  end function

  function times_mass(z) result(product_of_it)
    real(dp), intent(in) :: z(nz)
    real(dp) :: product_of_it(nz)
    product_of_it = 0.0_dp
    product_of_it(1:nz - rank_of_it) = matmul(selector(1:nz - rank_of_it, :), z(moving))
  end function

  logical function correct(t, z, rtol)
    ! moves z to the point on the constraints that is nearest to it
    real(dp), intent(in) :: t, rtol
    real(dp), intent(inout) :: z(nz)
    real(dp) :: h(nq), change(nz), length, before
    integer :: count_of_it
    before = huge(1.0_dp)
    correct = .true.
    if (rank_of_it == 0) return
    do count_of_it = 0, 7
      call constraints(t, z, h)
      correct = finite_all(h)
      if (.not. correct) return
      call least_change(rank_of_it, nq, nz, triangle, basis, order, h, row_scale, units, change)
      z = z + change
      length = sqrt(sum((change / tolerance)**2) / nz)
      if (length <= max(1.0e-6_dp, 10.0_dp * eps / rtol)) return
      if (length < 0.01_dp .and. length > 0.5_dp * before) return
      if (.not. length <= huge(1.0_dp) .or. (count_of_it > 2 .and. length > before)) exit
      before = length
    end do
    if (before > 0.03_dp) correct = failed('constraints cannot be satisfied')
  end function

  real(dp) function size_of_conditions(t, z, at_start, rows)
    ! the size of constraints, and at the start of its conditions, in units of rows
    real(dp), intent(in) :: t, z(nz), rows(nq + nc)
    logical, intent(in) :: at_start
    real(dp) :: r(nq + nc), E(nm, nm), w(nm), by_z(nc, nz), by_w(nc, nm)
    integer :: pivot(nm)
    size_of_conditions = huge(1.0_dp)
    r = 0.0_dp
    call constraints(t, z, r(1:nq))
    if (at_start) then
      if (.not. rates(t, z, E, pivot, w)) return
      call start_conditions(t, z, w, r(nq + 1:nq + nc), by_z, by_w)
    end if
    size_of_conditions = sqrt(sum((rows * r)**2))
    if (.not. size_of_conditions <= huge(1.0_dp)) size_of_conditions = huge(1.0_dp)
  end function

  logical function nearest_point(t, z, factor, at_start)
    ! The nearest unknowns that satisfy all constraints, at the start its conditions, too; false if there are none.
    ! Unknowns with a large factor move first, those with factor 0 not at all.
    real(dp), intent(in) :: t, factor(nz)
    real(dp), intent(inout) :: z(nz)
    logical, intent(in) :: at_start
    integer, parameter :: na = nq + nc
    real(dp) :: K(nm, nz), H(nq, nz), w(nm), r(na), by_z(nc, nz), by_w(nc, nm), A(na, nz), rows(na), b(nz, nz)
    real(dp) :: unit(nz), change(nz), point(nz), length, part
    integer :: which(na), i, known, round
    point = z
    do round = 1, 50
      nearest_point = derivatives(t, point, w, K, H)
      if (.not. nearest_point) return
      call constraints(t, point, r(1:nq))
      call start_conditions(t, point, w, r(nq + 1:na), by_z, by_w)
      unit = 1.0_dp + abs(point)
      A(1:nq, :) = H
      A(nq + 1:na, :) = by_z + matmul(by_w, K)
      if (.not. at_start) then
        A(nq + 1:na, :) = 0.0_dp
        r(nq + 1:na) = 0.0_dp
      end if
      do i = 1, na
        length = sqrt(sum((A(i, :) * unit)**2))
        rows(i) = 1.0_dp
        if (length > 0.0_dp) rows(i) = 1.0_dp / length
        A(i, :) = A(i, :) * unit * rows(i) * factor
      end do
      nearest_point = finite_all(r) .and. finite_all([A])
      if (.not. nearest_point) return
      unit = unit * factor
      known = factored(na, nz, A, b, which)
      call least_change(known, na, nz, A, b, which, r, rows, unit, change)
      if (all(abs(change) <= 1.0e-12_dp * (1.0_dp + abs(point)))) then
        nearest_point = all(abs(rows * r) <= 1.0e-7_dp)
        if (nearest_point) z = point + change
        return
      end if
      part = 1.0_dp                               ! less of a change that makes things worse
      length = sqrt(sum((rows * r)**2))
      do while (part > 1.0e-3_dp)
        if (size_of_conditions(t, point + part * change, at_start, rows) <= (1.0_dp - 0.1_dp * part) * length) exit
        part = 0.5_dp * part
      end do
      point = point + merge(part, 1.0_dp, part > 1.0e-3_dp) * change
    end do
    nearest_point = .false.
  end function

  logical function consistent_start(t, z)
    ! start values that satisfy all constraints and the conditions of the start, near those that are given
    real(dp), intent(in) :: t
    real(dp), intent(inout) :: z(nz)
    real(dp) :: factor(nz)
    factor = 1.0e3_dp                             ! first those that have no derivatives
    factor(moving) = 1.0_dp
    consistent_start = nearest_point(t, z, factor, .true.)
    if (.not. consistent_start) &
      consistent_start = failed('no consistent start values were found: change the given ones')
  end function

  function lagrange(at, Z) result(value)
    ! the polynomial through the stages, minus the start of the step; at = 1 at its end
    real(dp), intent(in) :: at, Z(nz, 3)
    real(dp) :: value(nz), nodes(4), weight
    integer :: j, i
    nodes = [0.0_dp, node]
    value = 0.0_dp
    do j = 2, 4
      weight = 1.0_dp
      do i = 1, 4
        if (i /= j) weight = weight * (at - nodes(i)) / (nodes(j) - nodes(i))
      end do
      value = value + weight * Z(:, j - 1)
    end do
  end function

  logical function prepare(step)
    real(dp), intent(in) :: step
    integer :: dof
    dof = nz - rank_of_it
    real_part = -jacobian
    complex_part = -jacobian
    real_part(1:dof, moving) = real_part(1:dof, moving) + gamma_of_it / step * selector(1:dof, :)
    complex_part(1:dof, moving) = complex_part(1:dof, moving) + pair_of_it / step * selector(1:dof, :)
    prepare = decompose(nz, real_part, real_pivot)
    if (prepare) prepare = decompose_complex(nz, complex_part, complex_pivot)
    if (.not. prepare) prepare = failed('a matrix is singular')
  end function

  logical function stages(t, z, step, stage, unit, stop_at, eta, theta, iterations)
    ! simplified iteration for the three stages
    real(dp), intent(in) :: t, z(nz), step, unit(nz), stop_at
    real(dp), intent(inout) :: stage(nz, 3), eta
    real(dp), intent(out) :: theta
    integer, intent(out) :: iterations
    real(dp) :: W(nz, 3), F(nz, 3), G(nz, 3), V(nz, 3), before, length
    complex(dp) :: pair(nz)
    integer :: i
    before = 0.0_dp
    theta = 0.0_dp
    W = matmul(stage, transpose(from_stages))
    do iterations = 1, most_iterations
      do i = 1, 3
        stages = equations(t + node(i) * step, z + stage(:, i), F(:, i))
        if (.not. stages) return
        V(:, i) = times_mass(W(:, i))
      end do
      G = matmul(F, transpose(from_stages))
      G(:, 1) = G(:, 1) - gamma_of_it / step * V(:, 1)
      pair = cmplx(G(:, 2), G(:, 3), dp) - pair_of_it / step * cmplx(V(:, 2), V(:, 3), dp)
      call solve(nz, real_part, real_pivot, G(:, 1))
      call solve_complex(nz, complex_part, complex_pivot, pair)
      G(:, 2) = real(pair, dp)
      G(:, 3) = aimag(pair)
      length = 0.0_dp
      do i = 1, 3
        length = length + sum((G(:, i) / unit)**2) / (3.0_dp * nz)
      end do
      length = sqrt(length)
      if (.not. length <= huge(1.0_dp)) then
        stages = failed('the iteration diverges')
        return
      end if
      if (iterations > 1) then
        theta = length / before
        if (theta < 0.99_dp) eta = theta / (1.0_dp - theta)
        if (theta >= 0.99_dp .or. length * theta**(most_iterations - iterations) / (1.0_dp - theta) > stop_at) then
          stages = failed('the iteration diverges')
          return
        end if
      end if
      before = max(length, eps)
      W = W + G
      stage = matmul(W, transpose(to_stages))
      if (eta * length <= stop_at) return
    end do
    stages = failed('the iteration does not converge')
  end function

  real(dp) function estimate(f, push, step, unit, error_of_it)
    ! the estimate of the error, in units; push is what stages contribute
    real(dp), intent(in) :: f(nz), push(nz), step, unit(nz)
    real(dp), intent(out) :: error_of_it(nz)
    error_of_it = f + push
    call solve(nz, real_part, real_pivot, error_of_it)
    estimate = sqrt(sum((error_of_it / unit * merge(min(step, 1.0_dp), 1.0_dp, rough))**2) / nz)
  end function

  logical function attempt(t, z, step, rtol, unit, careful, eta, stage, z_new, theta, iterations, error_of_it)
    ! a step with its error; the end is in z_new if the error is below 1
    real(dp), intent(in) :: t, z(nz), step, rtol, unit(nz)
    logical, intent(in) :: careful
    real(dp), intent(inout) :: eta, stage(nz, 3)
    real(dp), intent(out) :: z_new(nz), theta, error_of_it
    integer, intent(out) :: iterations
    real(dp) :: now(nz), push(nz), vector(nz), stop_at
    stop_at = max(10.0_dp * eps / rtol, min(0.03_dp, sqrt(rtol)))
    eta = max(eta, eps)**0.8_dp
    attempt = equations(t, z, now)
    if (attempt) attempt = stages(t, z, step, stage, unit, stop_at, eta, theta, iterations)
    if (.not. attempt) return
    push = times_mass(matmul(stage, error_weight) / step)
    error_of_it = estimate(now, push, step, unit, vector)
    if (error_of_it >= 1.0_dp .and. careful) then
      attempt = equations(t, z + vector, now)
      if (.not. attempt) return
      error_of_it = estimate(now, push, step, unit, vector)
    end if
    if (.not. error_of_it <= huge(1.0_dp)) then
      attempt = failed('a function is not finite')
      return
    end if
    error_of_it = max(error_of_it, 1.0e-10_dp)
    z_new = z + stage(:, 3)
    if (error_of_it < 1.0_dp) attempt = correct(t + step, z_new, rtol)
  end function

  subroutine row(t, z)
    real(dp), intent(in) :: t, z(nz)
    real(dp) :: out(nr)
    character(len=25 * (nr + 1)) :: line
    character(len=24) :: text
    integer :: i, place
    call results(t, z, out)
    write (text, '(es23.15e3)') t
    line = adjustl(text)
    place = len_trim(line)
    do i = 1, nr
      write (text, '(es23.15e3)') out(i)
      text = adjustl(text)
      line(place + 1:place + 25) = ','//text
      place = place + 1 + len_trim(text)
    end do
    write (*, '(a)') line(1:place)
  end subroutine

  subroutine output(t, z, step, stage, part, t_end, intervals, written)
    ! what is written of a step, up to a part of it
    real(dp), intent(in) :: t, z(nz), step, stage(nz, 3), part, t_end
    integer, intent(in) :: intervals
    integer, intent(inout) :: written
    real(dp) :: next
    if (intervals <= 0 .and. part < 1.0_dp) call row(t + part * step, z + lagrange(part, stage))
    if (intervals <= 0 .and. part >= 1.0_dp) call row(t + step, z + stage(:, 3))
    do while (written < intervals)
      next = start_time + (t_end - start_time) * (written + 1) / intervals
      if (written + 1 == intervals) next = t_end
      if (next > t + part * step * (1.0_dp + 4.0_dp * eps)) return
      call row(next, z + lagrange((next - t) / step, stage))
      written = written + 1
    end do
  end subroutine

  ! @@if events
  ! -- events ------------------------------------------------------------------------------------------------------
  !
  ! Truth values of relations are discrete variables. Near zero, within a band that tolerances give, they stay what they
  ! are; an event is where one leaves its band on the other side.

  logical function measure(t, z, unit, known)
    ! the bands of the relations; all that holds now (if that is known) does so inside of its band
    real(dp), intent(in) :: t, z(nz), unit(nz)
    logical, intent(in) :: known
    real(dp) :: g(nx), G_of_it(nx, nz)
    call relations(t, z, g)
    call relation_slopes(t, z, G_of_it)
    largest = max(largest, abs(g))
    band = max(1.0e-2_dp * matmul(abs(G_of_it), unit), 1.0e-13_dp * largest, 1.0e-290_dp)
    if (known) band = max(band, 1.1_dp * merge(-g, g, d(bits) /= 0.0_dp))
    measure = finite_all(g)
  end function

  function watched(t, z) result(value)
    ! negative for relations that have changed
    real(dp), intent(in) :: t, z(nz)
    real(dp) :: value(nx), g(nx)
    call relations(t, z, g)
    value = merge(g, -g, d(bits) /= 0.0_dp) + band
  end function

  function arriving(t, z, step, stage) result(which)
    ! the relations that get to zero at the end of a step, and would go on
    real(dp), intent(in) :: t, z(nz), step, stage(nz, 3)
    real(dp) :: g(nx), before(nx), towards(nx)
    logical :: which(nx)
    call relations(t, z, g)
    call relations(t - 1.0e-3_dp * step, z - stage(:, 3) + lagrange(1.0_dp - 1.0e-3_dp, stage), before)
    towards = merge(before - g, g - before, d(bits) /= 0.0_dp) / (1.0e-3_dp * step)
    which = towards > 0.0_dp .and. abs(g) <= 1024.0_dp * spacing(abs(t)) * towards
  end function

  logical function changed_at(t, z, step, stage, place)
    ! whether a relation has changed at a place in a step
    real(dp), intent(in) :: t, z(nz), step, stage(nz, 3), place
    real(dp) :: point(nz)
    point = z + stage(:, 3)
    if (place < 1.0_dp) point = z + lagrange(place, stage)
    changed_at = any(watched(t + place * step, point) < 0.0_dp)
  end function

  real(dp) function first_crossing(t, z, step, stage)
    ! where in a step (0 to 1) the first relation changes; -1 if there is none
    real(dp), intent(in) :: t, z(nz), step, stage(nz, 3)
    real(dp) :: low, high, middle
    integer :: part
    first_crossing = -1.0_dp
    if (nx == 0) return
    low = 0.0_dp
    do part = 1, 8
      high = part / 8.0_dp
      if (changed_at(t, z, step, stage, high)) exit
      low = high
    end do
    if (part > 8) return
    do while (high - low > 1.0e-13_dp * high + 1.0e-300_dp)
      middle = 0.5_dp * (low + high)
      if (middle <= low .or. middle >= high) exit
      if (changed_at(t, z, step, stage, middle)) then
        high = middle
      else
        low = middle
      end if
    end do
    first_crossing = high
  end function

  logical function truth(t, z, start, new)
    ! discrete variables with truth values that suit the unknowns
    real(dp), intent(in) :: t, z(nz)
    logical, intent(in) :: start
    real(dp), intent(out) :: new(nd)
    real(dp) :: g(nx), when(nt), slack(nt)
    logical :: stay(nx), now(nt)
    new = d
    call relations(t, z, g)
    truth = finite_all(g)
    if (.not. truth) return
    stay = d(bits) /= 0.0_dp
    if (start) stay = closed
    new(bits) = merge(1.0_dp, 0.0_dp, merge(stay, g > 0.0_dp, abs(g) <= band))
    call times(t, z, when)
    slack = 64.0_dp * spacing(max(abs(when), abs(t)))
    now = (when <= t + slack) .eqv. rising
    if (start) now = merge(timed_closed, now, abs(when - t) <= slack)
    new(timed_bits) = merge(1.0_dp, 0.0_dp, now)
  end function

  logical function unknowns(t, z, held, start)
    ! unknowns that suit the discrete variables: those with derivatives stay, unless constraints need them to move
    real(dp), intent(in) :: t
    real(dp), intent(inout) :: z(nz)
    logical, intent(in) :: held(nz), start
    real(dp) :: factor(nz)
    integer :: free_ones
    if (start) then
      unknowns = consistent_start(t, z)
      return
    end if
    do free_ones = 0, 1
      factor = 1.0_dp
      factor(moving) = free_ones
      where (held) factor = 1.0e-8_dp * factor
      unknowns = nearest_point(t, z, factor, .false.)
      if (unknowns) return
    end do
    unknowns = failed('at an event no unknowns satisfy the equations')
  end function

  logical function settled(t, z, held, start)
    ! unknowns and discrete variables that suit each other, values before the event being held
    real(dp), intent(in) :: t
    real(dp), intent(inout) :: z(nz)
    logical, intent(in) :: held(nz), start
    integer, parameter :: most = 200
    real(dp) :: first(nd), z_first(nz), seen(nd, most), new(nd)
    integer :: single, number, i, wrong
    first = d
    z_first = z
    do single = 0, 1                              ! if it goes round in circles, or nowhere, one truth value at a time
      d = first
      z = z_first
      turns: do number = 1, most
        do i = 1, number - 1
          if (all(seen(:, i) == d)) exit turns
        end do
        seen(:, number) = d
        settled = unknowns(t, z, held, start)
        if (.not. settled .and. single == 0 .and. number > 1) exit turns
        if (settled) settled = truth(t, z, start, new)
        if (.not. settled) return
        wrong = 0
        do i = 1, nx
          if (new(bits(i)) == d(bits(i))) cycle
          wrong = wrong + 1
          if (single == 1 .and. wrong > 1) new(bits(i)) = d(bits(i))
        end do
        d = new
        call assignments(t, z, new)
        settled = finite_all(new)
        if (.not. settled) return
        d = new
        if (all(d == seen(:, number))) return
      end do turns
    end do
    settled = failed('an event has no end: truth values of relations do not settle')
  end function

  integer function judged(t, z)
    ! what assertions say: 0 if one fails, 2 if the run is to end, else 1
    real(dp), intent(in) :: t, z(nz)
    real(dp) :: value(ncl)
    integer :: i
    judged = 1
    call claims(t, z, value)
    do i = 1, ncl
      if (claim_kinds(i) == 2 .and. value(i) /= 0.0_dp) then
        write (error_unit, '(a, es16.9, 2a)') 'the run ends at t = ', t, ': ', trim(messages(i))
        judged = 2
      else if (claim_kinds(i) == 1 .and. value(i) == 0.0_dp) then
        write (error_unit, '(a, es16.9, 2a)') 'warning: at t = ', t, ': ', trim(messages(i))
      else if (claim_kinds(i) == 0 .and. .not. abs(value(i)) > 0.0_dp) then
        reason = messages(i)
        judged = 0
        return
      end if
    end do
  end function

  subroutine strike(t, z)
    ! clocks that strike at t become 1
    real(dp), intent(in) :: t, z(nz)
    real(dp) :: pair(2, nk), tick
    integer :: i
    call clocks(t, z, pair)
    do i = 1, nk
      tick = pair(1, i) + max(anint((t - pair(1, i)) / pair(2, i)), 0.0_dp) * pair(2, i)
      if (abs(tick - t) <= 64.0_dp * spacing(max(abs(tick), abs(t)))) d(clocks_at(i)) = 1.0_dp
    end do
  end subroutine

  subroutine restart(t, z, held)
    ! unknowns that start again
    real(dp), intent(in) :: t
    real(dp), intent(inout) :: z(nz)
    logical, intent(out) :: held(nz)
    real(dp) :: condition(ni), value(ni)
    integer :: i
    call restarts(t, z, condition, value)
    held = .false.
    do i = 1, ni
      if (condition(i) == 0.0_dp) cycle
      z(restarted(i)) = value(i)
      held(restarted(i)) = .true.
    end do
  end subroutine

  subroutine put(place, value)
    ! a flag, if there is such a one
    integer, intent(in) :: place
    real(dp), intent(in) :: value
    if (place >= 1) d(place) = value
  end subroutine

  integer function event(t, z, which, terminal)
    ! everything that happens at t, after relations have changed: 0 if it fails, 2 if the run is to end, else 1
    real(dp), intent(in) :: t
    real(dp), intent(inout) :: z(nz)
    logical, intent(in) :: which(nx), terminal
    real(dp) :: old(nd)
    logical :: held(nz)
    integer :: pass, now
    d(bits) = merge(1.0_dp - d(bits), d(bits), which)
    call strike(t, z)
    if (terminal) call put(terminal_at, 1.0_dp)
    held = .false.
    event = 1
    do pass = 1, 200
      now = 0
      if (settled(t, z, held, .false.)) now = judged(t, z)
      if (now == 0) then
        event = 0
        return
      end if
      event = max(event, now)
      call restart(t, z, held)
      old = d
      d(clocks_at) = 0.0_dp
      call put(initial_at, 0.0_dp)
      call put(terminal_at, 0.0_dp)
      d(before_at) = d(now_at)
      if (.not. any(held) .and. all(d == old)) return
    end do
    reason = 'an event has no end: discrete variables change again and again'
    event = 0
  end function

  integer function begin(t, z, rtol, atol)
    ! what happens at the start
    real(dp), intent(in) :: t, rtol, atol
    real(dp), intent(inout) :: z(nz)
    real(dp) :: new(nd)
    logical :: held(nz), none(nx), fine
    begin = 0
    d(before_at) = d(now_at)
    call put(initial_at, 1.0_dp)
    fine = measure(t, z, atol + rtol * abs(z), .false.)
    if (fine) fine = truth(t, z, .true., new)
    if (.not. fine) return
    d = new
    held = .false.
    if (.not. settled(t, z, held, .true.)) return
    if (judged(t, z) == 0) return
    call restart(t, z, held)
    call put(initial_at, 0.0_dp)
    d(before_at) = d(now_at)
    none = .false.
    begin = event(t, z, none, .false.)
  end function

  real(dp) function next_time(t, z)
    ! when the next event is due whose time is known
    real(dp), intent(in) :: t, z(nz)
    real(dp) :: when(nt), pair(2, nk), late, number
    integer :: i
    late = t + 64.0_dp * spacing(max(abs(t), abs(stop_time)))
    call times(t, z, when)
    call clocks(t, z, pair)
    next_time = huge(1.0_dp)
    do i = 1, nt
      if (when(i) > late) next_time = min(next_time, when(i))
    end do
    do i = 1, nk
      number = max(aint((late - pair(1, i)) / pair(2, i)) - 1.0_dp, 0.0_dp)
      do while (pair(1, i) + number * pair(2, i) <= late)
        number = number + 1.0_dp
      end do
      next_time = min(next_time, pair(1, i) + number * pair(2, i))
    end do
  end function

  ! @@end
  logical function integrate(now, z, t_end, rtol, atol, intervals, last_time, written, which)
    ! Integrate from now to t_end, or to an event; now and z become the time and the unknowns there. `which` are the
    ! relations that change.
    real(dp), intent(in) :: t_end, rtol, atol, last_time
    real(dp), intent(inout) :: now, z(nz)
    integer, intent(in) :: intervals
    integer, intent(inout) :: written
    logical, intent(out) :: which(:)
    real(dp) :: unit(nz), w(nm), E(nm, nm), stage(nz, 3), old(nz, 3), z_new(nz), t, step, step_old, step_new
    real(dp) :: length, speed, error_old, error_of_it, eta, theta, prepared, safety, quotient
    integer :: pivot(nm), expected, iterations, i
    logical :: linear, fresh, rejected, last, fine
    ! @@if events
    real(dp) :: place, least
    integer :: tries
    ! @@end
    which = .false.
    t = now
    unit = atol + rtol * abs(z)
    integrate = linearize(t, z, unit, -1)
    if (integrate) integrate = rates(t, z, E, pivot, w)
    if (.not. integrate) return
    expected = rank_of_it
    length = sqrt(sum((z / unit)**2) / nz)
    speed = sqrt(sum((w / unit(moving))**2) / max(nm, 1))
    step = 1.0e-6_dp * (t_end - t)
    if (speed > 0.0_dp) step = min(1.0e-2_dp * max(length, 1.0_dp) / speed, 1.0e-3_dp * (t_end - t))
    step_old = 0.0_dp
    error_old = 1.0_dp
    eta = 1.0_dp
    prepared = 0.0_dp
    old = 0.0_dp
    linear = .true.
    fresh = .true.
    rejected = .false.
    reason = 'the error estimate is too large'
    ! @@if events
    tries = 0
    integrate = measure(t, z, unit, .true.)
    if (.not. integrate) return
    ! @@end
    do while (t < t_end)
      ! @@if events
      step = min(step, (stop_time - start_time) / 200.0_dp)   ! relations are looked at eight times in a step
      ! @@end
      last = t + 1.0001_dp * step >= t_end
      if (last) step = t_end - t
      if (step < 10.0_dp * eps * max(abs(t), abs(t_end))) then
        write (reason, '(a, es12.5, 2a)') 't = ', t, ': step size too small: ', trim(reason(1:40))
        integrate = .false.
        return
      end if
      unit = atol + rtol * abs(z)
      fine = .true.
      if (.not. linear) then
        fresh = .true.
        prepared = 0.0_dp
        linear = linearize(t, z, unit, expected)
        fine = linear
      end if
      if (fine .and. prepared /= step) then
        fine = prepare(step)
        prepared = step
      end if
      stage = 0.0_dp
      if (step_old > 0.0_dp) then
        do i = 1, 3
          stage(:, i) = lagrange(1.0_dp + node(i) * step / step_old, old) - old(:, 3)
        end do
      end if
      if (fine) fine = attempt(t, z, step, rtol, unit, step_old == 0.0_dp .or. rejected, eta, stage, z_new, theta, &
        iterations, error_of_it)
      if (.not. fine) then
        rejected = .true.
        if (fresh) step = 0.5_dp * step
        linear = .false.
        eta = 1.0_dp
        cycle
      end if
      safety = 0.9_dp * (1 + 2 * most_iterations) / (iterations + 2 * most_iterations)
      quotient = min(5.0_dp, max(0.125_dp, error_of_it**0.25_dp / safety))
      if (error_of_it >= 1.0_dp) then
        reason = 'the error estimate is too large'
        rejected = .true.
        step = merge(step / quotient, 0.1_dp * step, step_old > 0.0_dp)
        if (.not. fresh) linear = .false.
        cycle
      end if
      if (step_old > 0.0_dp) quotient = max(quotient, &
        min(5.0_dp, step_old / step * (error_of_it**2 / error_old)**0.25_dp / 0.9_dp))
      step_new = step / quotient
      if (rejected) step_new = min(step, step_new)
      stage(:, 3) = z_new - z
      ! @@if events
      place = first_crossing(t, z, step, stage)
      if (place > 1.0e-4_dp .and. place < 1.0_dp - 1.0e-9_dp .and. tries < 8 .and. &
        place * step > 1.0e-10_dp * max(abs(t), abs(t_end))) then
        step = step * place                       ! the same step again, up to the event
        tries = tries + 1
        rejected = .true.
        cycle
      end if
      if (place >= 0.0_dp) then
        z_new = z + lagrange(place, stage)
        integrate = correct(t + place * step, z_new, rtol)
        if (.not. integrate) return
        call output(t, z, step, stage, place, last_time, intervals, written)
        now = merge(t_end, t + place * step, last .and. place >= 1.0_dp - 1.0e-9_dp)
        z = z_new
        least = minval(watched(now, z))
        which = watched(now, z) <= max(least, 0.0_dp)
        return
      end if
      tries = 0
      ! @@end
      call output(t, z, step, stage, 1.0_dp, last_time, intervals, written)
      t = merge(t_end, t + step, last)
      z = z_new
      old = stage
      step_old = step
      error_old = max(error_of_it, 1.0e-2_dp)
      rejected = .false.
      fresh = .false.
      if (theta > 1.0e-3_dp) linear = .false.
      if (.not. linear .or. step_new < step .or. step_new > 1.2_dp * step) step = step_new
    end do
    now = t_end
    ! @@if events
    which = arriving(t_end, z, step_old, old)
    ! @@end
  end function

  logical function run(z, t_end, rtol, atol, intervals)
    ! from the start to the end, from event to event
    real(dp), intent(in) :: t_end, rtol, atol
    real(dp), intent(inout) :: z(nz)
    integer, intent(in) :: intervals
    real(dp) :: t
    integer :: written
    ! @@if smooth
    logical :: which(0)
    t = start_time
    written = 0
    run = consistent_start(t, z)
    if (.not. run) return
    call row(t, z)
    run = integrate(t, z, t_end, rtol, atol, intervals, t_end, written, which)
    ! @@end
    ! @@if events
    real(dp) :: due, recent(0:199)
    logical :: which(nx), at_end
    integer :: verdict, events
    t = start_time
    written = 0
    events = 0
    verdict = begin(t, z, rtol, atol)
    if (verdict /= 0) call row(t, z)
    do while (verdict == 1 .and. t < t_end)
      due = next_time(t, z)
      run = integrate(t, z, min(due, t_end), rtol, atol, intervals, t_end, written, which)
      if (.not. run) return
      at_end = t >= t_end
      if (any(which) .or. t >= due .or. (at_end .and. terminal_at >= 1)) then
        if (any(which)) then
          if (events >= 200) then
            if (t - recent(mod(events, 200)) < 1.0e-7_dp * (t_end - start_time)) then
              run = failed('changes again and again: '//relation_names(maxloc(merge(1, 0, which), 1)))
              return
            end if
          end if
          recent(mod(events, 200)) = t
          events = events + 1
        end if
        verdict = event(t, z, which, at_end)
        if (verdict /= 0 .and. intervals <= 0) call row(t, z)
      end if
    end do
    run = verdict /= 0
    if (.not. run) write (error_unit, '(a, es16.9)') 'at t = ', t
    ! @@end
  end function

end module

program translated
  use method
  implicit none
  real(dp) :: z(nz), t_end, rtol, atol, number
  integer :: intervals
  character(len=60) :: text
  t_end = stop_time
  rtol = default_rtol
  atol = default_atol
  intervals = default_intervals
  if (given(1)) t_end = number
  if (given(2)) then
    rtol = number
    atol = number
  end if
  if (given(3)) intervals = nint(number)
  call start_values(z)
  call write_names()
  if (.not. run(z, t_end, rtol, atol, intervals)) then
    write (error_unit, '(2a)') 'error: ', trim(reason)
    stop 1
  end if

contains

  logical function given(place)
    ! whether there is an argument; its value goes to number
    integer, intent(in) :: place
    integer :: status
    given = command_argument_count() >= place
    if (.not. given) return
    call get_command_argument(place, text)
    read (text, *, iostat=status) number
    if (status /= 0) then
      write (error_unit, '(3a)') 'error: ', trim(text), ' is not a number'
      stop 2
    end if
  end function

end program
